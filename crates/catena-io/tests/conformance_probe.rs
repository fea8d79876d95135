//! probe
#[test]
fn probe() {
    for m in ["stanford","zoo","space-robot","pendulum-1","pendulum-2","pendulum-5","random-10-2","random-20-4","random-40-5","random-30-7","random-60-6","random-20-3","pendulum-30","pendulum-100","floating-chain-20","chain-40"] {
      for seed in 0..20 {
        let model = catena::model::embedded::model(m).unwrap();
        let text = catena_io::conformance::export_case(m, &model, 3, 11+100*seed).unwrap();
        let r = catena_io::conformance::verify_text(&text, m);
        match r { Ok(r) => println!("{r}"), Err(e) => println!("{e}") }
      }
    }
}
