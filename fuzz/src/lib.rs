//! Targets of the coverage-guided fuzzer: those of `catena-fuzz`, damaged half by libFuzzer and half by our mutator, which knows
//! tokens, numbers, lines and elements.

use catena::random::Random;
use catena_fuzz::mutator;

pub use libfuzzer_sys;

/// The target of that name, as a fuzzer's program.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| {
            (catena_fuzz::target($name).expect("a target").run)(input);
        });

        $crate::libfuzzer_sys::fuzz_mutator!(
            |data: &mut [u8], size: usize, max_size: usize, seed: u32| {
                let is_text = catena_fuzz::target($name).expect("a target").is_text;
                $crate::mutate(is_text, data, size, max_size, seed)
            }
        );
    };
}

/// One step of damage, in place. Returns the new length.
pub fn mutate(is_text: bool, data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random::new(u64::from(seed));
    let damaged = match std::str::from_utf8(&data[..size]) {
        Ok(text) if is_text && random.below(2) == 0 => mutator::text(text, &mut random).into_bytes(),
        _ if !is_text && random.below(2) == 0 => mutator::bytes(&data[..size], &mut random),
        _ => return libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    };
    let length = damaged.len().min(max_size);
    data[..length].copy_from_slice(&damaged[..length]);
    length
}
