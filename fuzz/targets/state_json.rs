#![no_main]

catena_fuzz_targets::target!("state_json");
