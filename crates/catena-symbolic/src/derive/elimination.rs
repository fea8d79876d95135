//! Meaning of the entries of the eliminated matrices, and verification of I = U D Uᵀ.
//!
//! Saha (1999), eqs. 46–50: after freedoms n … k have been eliminated the remaining entries again form an inertia matrix,
//!
//! ```text
//! lᵢⱼ⁽ᵏ⁾ = pᵢᵀ M̂ᵢₖ Bᵢⱼ pⱼ        j ≤ i < k                                             (46)
//! M̂ᵢₖ = Mᵢ + Bᵀ M̂ᵢ₊₁,ₖ B          bodies i … k−1 locked together, those beyond on their joints (49)
//! M̂ₖₖ = M̂ₖ − ψ̂ₖ ψₖᵀ                                                                   (50)
//! ```
//!
//! with M̂ᵢ,ₙ₊₁ = M̃ᵢ, the composite body, before the first step, and M̂ₖ,ₖ₊₁ = M̂ₖ, the articulated body, at the elimination of k.

use super::symbolic::general;
use crate::{Expr, scope};
use catena::algorithm::factorization::{Factorization, reverse_gaussian_elimination};
use catena::algorithm::inertia_matrix::{CompositeBodies, inertia_matrix};
use catena::algorithm::kinematics::{Kinematics, forward_kinematics};
use catena::residual::larger;
use catena::scalar::DoubleDouble;
use catena::spatial::{ArticulatedInertia, Motion};
use catena::{Base, Matrix, Model, Parameter, Scalar, State, StateView};

/// Up to this many freedoms I = U D Uᵀ is verified in symbols.
const VERIFIED: usize = 3;

/// Results of the verification of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verification {
    /// Whether I = U D Uᵀ, U and D of recursion and elimination, and (46) hold identically, with a symbol for every number of the
    /// model that is not 0 or ±1. None where not tried: beyond three freedoms.
    pub proved: Option<bool>,
    /// Largest entry of I − U D Uᵀ of the recursion at random states, relative to the largest of I.
    pub product: f64,
    /// Largest difference between the eliminated matrices and (46), and the elimination's U and D and those of the recursion, relative
    /// to the largest of each.
    pub meaning: f64,
    /// For recursions: [`Recursion::difference`](super::Recursion::difference).
    pub steps: Option<f64>,
    /// For force elements in closed form: [`Elements::difference`](super::Elements::difference).
    pub loads: Option<f64>,
}

impl Verification {
    /// The largest difference of all.
    pub fn difference(&self) -> f64 {
        [
            self.meaning,
            self.steps.unwrap_or(0.0),
            self.loads.unwrap_or(0.0),
        ]
        .into_iter()
        .fold(self.product, larger)
    }
}

impl Verification {
    /// Verifies a model without loops.
    pub(super) fn new(model: &Model) -> Self {
        let nv = model.nv();
        let (mut product, mut meaning) = (0.0f64, 0.0f64);
        let rotor = |k: usize| DoubleDouble::from(model.dof(k).armature);
        let rotors: Vec<DoubleDouble> = (0..nv).map(rotor).collect();
        for seed in [7, 8] {
            let mut state: State<DoubleDouble> = State::random(model, seed).lift();
            state.step(model, &vec![DoubleDouble::zero(); nv]); // quaternions of length one in these digits
            for (kind, a, b) in pairs::<DoubleDouble, f64>(model, &rotors, &state.q) {
                let size = b.iter().fold(0.0, |m, x| larger(m, x.value().abs()));
                let differences = a.iter().zip(&b).map(|(a, b)| (*a - *b).value().abs());
                let difference = differences.fold(0.0, larger) / size.max(f64::MIN_POSITIVE);
                match kind {
                    Kind::Product => product = larger(product, difference),
                    Kind::Meaning => meaning = larger(meaning, difference),
                }
            }
        }
        let proved = (nv <= VERIFIED).then(|| {
            scope(|| {
                let (general, rotors) = general(model);
                let q = coordinates(model);
                pairs::<Expr, Expr>(&general, &rotors, &q)
                    .iter()
                    .all(|(_, a, b)| {
                        let mut differences = a.iter().zip(b).map(|(a, b)| *a - *b);
                        differences.all(|x| x.is_identically_zero() == Some(true))
                    })
            })
        });
        Verification {
            proved,
            product,
            meaning,
            steps: None,
            loads: None,
        }
    }
}

/// All positions as symbols; quaternions of length one by three angles: (cos α cos β, cos α sin β, sin α cos γ, sin α sin γ).
fn coordinates(model: &Model) -> Vec<Expr> {
    let mut q = Expr::symbols("q", model.nq());
    for body in &model.tree().bodies[1..] {
        if let Some(first) = body.kind.quaternion() {
            let at = body.q + first;
            let [a, b, c] = [at, at + 1, at + 2].map(|k| q[k].sin_cos());
            (q[at], q[at + 1]) = (a.1 * b.1, a.1 * b.0);
            (q[at + 2], q[at + 3]) = (a.0 * c.1, a.0 * c.0);
        }
    }
    q
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Product,
    Meaning,
}

/// Expressions that must be equal, in pairs.
fn pairs<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    rotors: &[S],
    q: &[S],
) -> Vec<(Kind, Vec<S>, Vec<S>)> {
    let nv = model.nv();
    let mut inertia = Matrix::zeros(nv, nv);
    let mut work = CompositeBodies::new(model);
    inertia_matrix(model, q, &mut work, inertia.as_mut_slice());
    let mut factors = Factorization::new(model);
    factors.factorize(model, q);
    let (u, d) = (factors.u(model), factors.d());
    let elimination = reverse_gaussian_elimination(&inertia);
    let mut pairs = vec![
        (Kind::Product, product(&u, &d), inertia.as_slice().to_vec()),
        (
            Kind::Meaning,
            elimination.u.as_slice().to_vec(),
            u.as_slice().to_vec(),
        ),
        (Kind::Meaning, elimination.d.clone(), d),
    ];
    for step in &elimination.steps {
        let meaning = partly_articulated(model, rotors, q, step.k);
        let mut entries = Vec::new();
        for i in 0..step.k {
            for j in 0..step.k {
                entries.push(step.reduced[(i, j)]);
            }
        }
        pairs.push((Kind::Meaning, entries, meaning.as_slice().to_vec()));
    }
    pairs
}

/// U D Uᵀ, row after row.
fn product<S: Scalar>(u: &Matrix<S>, d: &[S]) -> Vec<S> {
    let n = d.len();
    let mut product = Vec::with_capacity(n * n);
    for i in 0..n {
        for j in 0..n {
            let mut sum = S::zero();
            for k in i.max(j)..n {
                sum += u[(i, k)] * d[k] * u[(j, k)];
            }
            product.push(sum);
        }
    }
    product
}

/// The remaining inertia matrix of freedoms 0 … k−1 when those from k on are free of effort: (46).
fn partly_articulated<S: Scalar, P: Parameter<S>>(
    model: &Model<P>,
    rotors: &[S],
    q: &[S],
    k: usize,
) -> Matrix<S> {
    let tree = model.tree();
    let rest = vec![S::zero(); model.nv()];
    let mut kinematics = Kinematics::new(model);
    forward_kinematics(
        model,
        StateView {
            q,
            v: &rest,
            base: &Base::fixed(),
        },
        &rest,
        &mut kinematics,
    );
    let n = model.body_count();
    let mut inertia: Vec<ArticulatedInertia<S>> = (0..=n)
        .map(|i| match i {
            0 => ArticulatedInertia::zero(),
            _ => model.moments(i).lift::<S>().articulated(),
        })
        .collect();
    let mut matrix = Matrix::zeros(k, k);
    for i in (1..=n).rev() {
        let range = tree.dof_range(i);
        let column = |l: usize| kinematics.joint_column(model, i, l - range.start);
        for l in range.clone().rev().filter(|l| *l >= k) {
            inertia[i] = without(inertia[i], column(l), rotors[l]); // (50)
        }
        for l in range.clone().filter(|l| *l < k) {
            let mut wrench = inertia[i].times(column(l));
            let mut j = i;
            while j != 0 {
                let own = tree.dof_range(j);
                for m in own.clone().filter(|m| *m < k) {
                    let at = kinematics.joint_column(model, j, m - own.start);
                    let mut entry = wrench.dot(at); // (46)
                    if m == l {
                        entry += rotors[l];
                    }
                    matrix[(l, m)] = entry;
                    matrix[(m, l)] = entry;
                }
                wrench = kinematics.parent_from_body(j).force_out(wrench);
                j = tree.parent(j);
            }
        }
        let parent = tree.parent(i);
        if parent != 0 {
            let seen = inertia[i].seen_from(kinematics.parent_from_body(i));
            inertia[parent] = inertia[parent] + seen; // (49)
        }
    }
    matrix
}

/// M̂ − ψ̂ ψᵀ for one freedom.
fn without<S: Scalar>(
    inertia: ArticulatedInertia<S>,
    column: Motion<S>,
    rotor: S,
) -> ArticulatedInertia<S> {
    let hat = inertia.times(column);
    let inverse = (hat.dot(column) + rotor).recip();
    let psi = hat * inverse;
    inertia.minus_outer(hat, psi)
}
