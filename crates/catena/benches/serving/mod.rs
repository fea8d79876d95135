//! What the benches that are compared with the peers share: orders from standard input, files of states, and the clock. `peers/speed/engine.h`
//! has the orders and the format of the files, which the programs of the other engines use too.

use catena::Model;
use std::error::Error;
use std::io::{BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

pub type Done<T> = Result<T, Box<dyn Error>>;

/// Length of a repetition, as in engine.h.
const REPETITION: Duration = Duration::from_micros(200);
const MOST_REPETITIONS: usize = 20_000;
/// Numbers of all states, one state after another.
#[derive(Default)]
pub struct Table {
    pub count: usize,
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    pub vdot: Vec<f64>,
    pub tau: Vec<f64>,
}

impl Table {
    pub fn read(path: &str, model: &Model) -> Done<Self> {
        let bytes = std::fs::read(path)?;
        let words: Vec<[u8; 8]> = bytes
            .chunks_exact(8)
            .map(|word| word.try_into().expect("eight bytes"))
            .collect();
        if words.len() < 3 {
            return Err("the file of states is too short".into());
        }
        let [count, nq, nv] = [0, 1, 2].map(|k| i64::from_le_bytes(words[k]) as usize);
        let numbers: Vec<f64> = words[3..].iter().map(|w| f64::from_le_bytes(*w)).collect();
        if [nq, nv] != [model.nq(), model.nv()] || numbers.len() != count * (nq + 3 * nv) {
            return Err("tree and states do not fit".into());
        }
        let (q, rest) = numbers.split_at(count * nq);
        let (v, rest) = rest.split_at(count * nv);
        let (vdot, tau) = rest.split_at(count * nv);
        let [q, v, vdot, tau] = [q, v, vdot, tau].map(<[f64]>::to_vec);
        Ok(Table {
            count,
            q,
            v,
            vdot,
            tau,
        })
    }
}

/// Runs `work` again and again and tells best and median time per state, and how many states were computed.
pub fn measure(
    seconds: f64,
    warm_up: usize,
    states_per_call: usize,
    mut work: impl FnMut() -> catena::Result<()>,
) -> Done<String> {
    let start = Instant::now();
    let mut warm = 0;
    while warm == 0 || (warm < warm_up && start.elapsed().as_secs_f64() < 0.1 * seconds) {
        work()?;
        warm += 1;
    }
    let guess = start.elapsed().as_secs_f64() / warm as f64;
    let calls = ((REPETITION.as_secs_f64() / guess) as usize).max(1);
    let mut times = Vec::with_capacity(MOST_REPETITIONS);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut before = Instant::now();
    while times.is_empty() || (before < end && times.len() < MOST_REPETITIONS) {
        for _ in 0..calls {
            work()?;
        }
        let after = Instant::now();
        times.push((after - before).as_secs_f64() * 1e9 / (calls * states_per_call) as f64);
        before = after;
    }
    times.sort_by(f64::total_cmp);
    Ok(format!(
        "times {:.3} {:.3} {}",
        times[0],
        times[times.len() / 2],
        calls * states_per_call * times.len()
    ))
}

/// Answers orders, one per line, until there are no more. `peers/run.sh WHO` gives them.
pub fn serve(who: &str, mut answer: impl FnMut(&str) -> Done<String>) -> Done<()> {
    if std::io::stdin().is_terminal() {
        println!("this bench takes orders from `peers/run.sh {who}`; peers/README.md tells more");
        return Ok(());
    }
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line == "quit" {
            break;
        }
        let told = answer(&line)
            .unwrap_or_else(|problem| format!("error {}", problem.to_string().replace('\n', " ")));
        println!("{told}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
