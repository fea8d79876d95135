//! Operation counts of the dynamics of a few robots, before and after the steps of the generator.
use catena::algorithm::forward_dynamics::{ForwardDynamics, forward_dynamics};
use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use catena::model::embedded;
use catena::{Base, Model};
use catena_symbolic::{Expr, Program, scope};

fn run(model: &Model, offset: &[f64], optimise: bool) {
    let make = |e: &[Expr]| {
        if optimise {
            Program::new(e)
        } else {
            Program::unoptimized(e)
        }
    };
    let report = |what: &str, program: Program| {
        let c = program.operation_count();
        println!(
            "   {what:10} {:5} M {:5} A {:3} D {:3} trig",
            c.multiplications, c.additions, c.divisions, c.sines
        );
    };
    use catena::Scalar;
    let nv = model.nv();
    let q = || -> Vec<Expr> {
        Expr::symbols("q", model.nq())
            .iter()
            .zip(offset)
            .map(|(q, o)| *q + Expr::constant(*o))
            .collect()
    };
    scope(|| {
        let (v, x) = (Expr::symbols("v", nv), Expr::symbols("x", nv));
        let mut out = x.clone();
        inverse_dynamics(
            model,
            &q(),
            &v,
            &x,
            &Base::fixed(),
            &[],
            &mut InverseDynamics::new(model),
            &mut out,
        );
        report("inverse", make(&out));
    });
    scope(|| {
        let (v, x) = (Expr::symbols("v", nv), Expr::symbols("x", nv));
        let mut out = x.clone();
        forward_dynamics(
            model,
            &q(),
            &v,
            &x,
            &Base::fixed(),
            &[],
            &mut ForwardDynamics::new(model),
            &mut out,
        );
        report("forward", make(&out));
    });
    scope(|| {
        let mut out = vec![Expr::zero(); nv * nv];
        inertia_matrix(model, &q(), &mut CompositeBodies::new(model), &mut out);
        report("inertia", make(&out));
    });
}

fn main() {
    for name in std::env::args().skip(1) {
        let model = embedded::model(&name).unwrap();
        println!("{name}");
        let zero = vec![0.0; model.nq()];
        run(&model, &zero, false);
        let aligned = model.in_common_normal_frames(1e-14);
        println!("  aligned");
        run(&aligned.model, &aligned.offset, false);
        let reduced = model.reduced(1e-14);
        println!("  reduced");
        run(&reduced.model, &reduced.offset, false);
        println!("  optimised");
        run(&reduced.model, &reduced.offset, true);
    }
}
