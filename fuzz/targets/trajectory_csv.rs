#![no_main]

catena_fuzz_targets::target!("trajectory_csv");
