//! Writes generated code: `write MODEL DIR LANGUAGE QUESTION…`
use catena::model::embedded;
use catena_symbolic::generate::{Language, Module, Options, Question};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let model = embedded::model(&arguments[0]).unwrap();
    let questions: Vec<Question> = arguments[3..]
        .iter()
        .map(|a| Question::ALL.iter().find(|(n, _)| n == a).unwrap().1)
        .collect();
    let language = Language::ALL
        .iter()
        .find(|(n, _)| *n == arguments[2])
        .unwrap()
        .1;
    let start = std::time::Instant::now();
    let module = Module::new(&model, &questions, &Options::default()).unwrap();
    for function in &module.functions {
        println!(
            "{}: {} [{}]",
            function.question.name(),
            function.operations(),
            function.method
        );
    }
    for file in module.source(language).unwrap() {
        println!("{} {} bytes", file.name, file.text.len());
        std::fs::write(format!("{}/{}", arguments[1], file.name), file.text).unwrap();
    }
    println!("{:.2?}", start.elapsed());
}
