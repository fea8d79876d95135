//! Writes the good inputs of every target to `fuzz/work`, where the fuzzer begins: `cargo run -p catena-fuzz --example seeds`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let work = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/work");
    for target in catena_fuzz::TARGETS {
        let folder = work.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (k, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{k}")), seed)?;
        }
    }
    Ok(())
}
