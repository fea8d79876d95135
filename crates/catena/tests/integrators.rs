//! Integrators: coefficients, orders, long runs, events, restarts, failures.

use catena::integrate::tableau::ErrorEstimate;
use catena::integrate::{
    Adaptive, Fixed, FixedMethod, Mechanical, Method, Options, System, Tableau, Tolerances,
};
use catena::random::Random;
use catena::state::quaternion_step;
use catena::{Error, ErrorKind, Result};
use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

// ---- allocations of this thread -------------------------------------------------------------------------------------------

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code)]
// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as for the caller.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for the caller.
        unsafe { Heap.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// ---- systems --------------------------------------------------------------------------------------------------------------

/// ẏ = f(t, y) from a function.
struct Plain<F> {
    dimension: usize,
    f: F,
}

impl<F: FnMut(f64, &[f64], &mut [f64])> System for Plain<F> {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        (self.f)(t, y, dy);
        Ok(())
    }
}

fn plain<F: FnMut(f64, &[f64], &mut [f64])>(dimension: usize, f: F) -> Plain<F> {
    Plain { dimension, f }
}

fn oscillator(_t: f64, y: &[f64], dy: &mut [f64]) {
    (dy[0], dy[1]) = (y[1], -y[0]);
}

fn kepler(_t: f64, y: &[f64], dy: &mut [f64]) {
    let r3 = (y[0] * y[0] + y[1] * y[1]).powf(1.5);
    (dy[0], dy[1], dy[2], dy[3]) = (y[2], y[3], -y[0] / r3, -y[1] / r3);
}

const ECCENTRICITY: f64 = 0.3;

/// Position and velocity on the Kepler orbit of period 2π, from Kepler's equation E − e sin E = t.
fn kepler_exact(t: f64) -> [f64; 4] {
    let e = ECCENTRICITY;
    let mut anomaly = t;
    for _ in 0..50 {
        anomaly -= (anomaly - e * anomaly.sin() - t) / (1.0 - e * anomaly.cos());
    }
    let (sin, cos) = anomaly.sin_cos();
    let b = (1.0 - e * e).sqrt();
    let rate = 1.0 / (1.0 - e * cos);
    [cos - e, b * sin, -sin * rate, b * cos * rate]
}

/// ẏ = y cos t with y = exp(sin t): depends on time.
fn growth(t: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = y[0] * t.cos();
}

const MOON: f64 = 0.012277471;

/// Restricted three-body problem; its Arenstorf orbit is closed (Hairer, Nørsett & Wanner 1993, sec. II.0).
fn arenstorf(_t: f64, y: &[f64], dy: &mut [f64]) {
    let earth = 1.0 - MOON;
    let d1 = ((y[0] + MOON).powi(2) + y[1] * y[1]).powf(1.5);
    let d2 = ((y[0] - earth).powi(2) + y[1] * y[1]).powf(1.5);
    dy[0] = y[2];
    dy[1] = y[3];
    dy[2] = y[0] + 2.0 * y[3] - earth * (y[0] + MOON) / d1 - MOON * (y[0] - earth) / d2;
    dy[3] = y[1] - 2.0 * y[2] - earth * y[1] / d1 - MOON * y[1] / d2;
}

const ARENSTORF_START: [f64; 4] = [0.994, 0.0, 0.0, -2.001_585_106_379_082_5];
const ARENSTORF_PERIOD: f64 = 17.065_216_560_157_964;

/// A free rigid body: quaternion and angular velocity in body axes.
#[derive(Clone, Copy)]
struct RigidBody {
    inertia: [f64; 3],
}

const BODY: RigidBody = RigidBody {
    inertia: [1.0, 2.0, 3.5],
};
const BODY_START: [f64; 7] = [1.0, 0.0, 0.0, 0.0, 0.3, 1.4, -0.5];

impl RigidBody {
    fn euler(&self, w: &[f64], wdot: &mut [f64]) {
        let [a, b, c] = self.inertia;
        wdot[0] = (b - c) / a * w[1] * w[2];
        wdot[1] = (c - a) / b * w[2] * w[0];
        wdot[2] = (a - b) / c * w[0] * w[1];
    }

    fn energy(&self, w: &[f64]) -> f64 {
        (0..3).map(|k| 0.5 * self.inertia[k] * w[k] * w[k]).sum()
    }
}

impl System for RigidBody {
    fn dimension(&self) -> usize {
        7
    }

    fn derivative(&mut self, _t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        let (p, w) = y.split_at(4);
        dy[0] = 0.5 * (-p[1] * w[0] - p[2] * w[1] - p[3] * w[2]);
        dy[1] = 0.5 * (p[0] * w[0] + p[2] * w[2] - p[3] * w[1]);
        dy[2] = 0.5 * (p[0] * w[1] + p[3] * w[0] - p[1] * w[2]);
        dy[3] = 0.5 * (p[0] * w[2] + p[1] * w[1] - p[2] * w[0]);
        self.euler(w, &mut dy[4..]);
        Ok(())
    }

    fn project(&mut self, _t: f64, y: &mut [f64]) {
        let length = norm(&y[..4]);
        y[..4].iter_mut().for_each(|x| *x /= length);
    }
}

impl Mechanical for RigidBody {
    fn position_count(&self) -> usize {
        4
    }

    fn velocity_count(&self) -> usize {
        3
    }

    fn acceleration(&mut self, _t: f64, _q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.euler(v, vdot);
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        let turned = quaternion_step([q[0], q[1], q[2], q[3]], [delta[0], delta[1], delta[2]]);
        q.copy_from_slice(&turned);
    }
}

/// A spinning body that a spring pulls back to its first orientation, so that positions act on velocities.
struct TorsionBody(RigidBody);

impl System for TorsionBody {
    fn dimension(&self) -> usize {
        7
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        self.0.derivative(t, y, dy)?;
        let (p, w) = y.split_at(4);
        Mechanical::acceleration(self, t, p, w, &mut dy[4..])
    }

    fn project(&mut self, t: f64, y: &mut [f64]) {
        self.0.project(t, y);
    }
}

impl Mechanical for TorsionBody {
    fn position_count(&self) -> usize {
        4
    }

    fn velocity_count(&self) -> usize {
        3
    }

    fn acceleration(&mut self, t: f64, q: &[f64], v: &[f64], vdot: &mut [f64]) -> Result<()> {
        self.0.euler(v, vdot);
        for k in 0..3 {
            vdot[k] -= (1.0 + 0.5 * t.sin()) * q[0] * q[1 + k] / self.0.inertia[k];
        }
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        self.0.step(q, delta);
    }
}

/// A pendulum of length 1 m under 9.81 m/s².
struct Pendulum;

impl Pendulum {
    fn energy(q: &[f64], v: &[f64]) -> f64 {
        0.5 * v[0] * v[0] - 9.81 * q[0].cos()
    }
}

impl Mechanical for Pendulum {
    fn position_count(&self) -> usize {
        1
    }

    fn velocity_count(&self) -> usize {
        1
    }

    fn acceleration(&mut self, _t: f64, q: &[f64], _v: &[f64], vdot: &mut [f64]) -> Result<()> {
        vdot[0] = -9.81 * q[0].sin();
        Ok(())
    }

    fn step(&mut self, q: &mut [f64], delta: &[f64]) {
        q[0] += delta[0];
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter()
        .zip(y)
        .map(|(x, y)| (x - y).powi(2))
        .sum::<f64>()
        .sqrt()
}

fn begin<S: System>(
    method: Method,
    options: Options,
    system: &mut S,
    y: &[f64],
) -> Result<Adaptive> {
    let mut run = Adaptive::new(method, y.len(), options)?;
    run.start(system, 0.0, y)?;
    Ok(run)
}

fn solve<S: System>(
    method: Method,
    options: Options,
    system: &mut S,
    y: &[f64],
    end: f64,
) -> Result<Adaptive> {
    let mut run = begin(method, options, system, y)?;
    while run.time() < end {
        run.step(system, end)?;
    }
    Ok(run)
}

/// Steps of one size: the tolerance never bites.
fn even_steps(size: f64) -> Options {
    Options {
        tolerances: Tolerances {
            relative: 0.0,
            absolute: 1e9,
        },
        max_step: size,
        initial_step: Some(size),
        ..Options::default()
    }
}

// ---- coefficients ---------------------------------------------------------------------------------------------------------

/// A rooted tree by its sub-trees.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Tree(Vec<Tree>);

impl Tree {
    fn size(&self) -> usize {
        1 + self.0.iter().map(Tree::size).sum::<usize>()
    }

    /// γ: the tree's order times the γ of its sub-trees.
    fn density(&self) -> f64 {
        self.0
            .iter()
            .fold(self.size() as f64, |product, tree| product * tree.density())
    }

    /// All trees with up to this many nodes, by number of nodes.
    fn all(most: usize) -> Vec<Tree> {
        let mut by_size: Vec<Vec<Tree>> = vec![Vec::new(), vec![Tree(Vec::new())]];
        for nodes in 2..=most {
            // a tree with one node less, and a leaf grown from any of its nodes
            let mut grown: Vec<Tree> = by_size[nodes - 1]
                .iter()
                .flat_map(Tree::with_leaf)
                .collect();
            grown.sort();
            grown.dedup();
            by_size.push(grown);
        }
        by_size.into_iter().flatten().collect()
    }

    fn with_leaf(&self) -> Vec<Tree> {
        let mut grown = Vec::new();
        let mut at_root = self.0.clone();
        at_root.push(Tree(Vec::new()));
        grown.push(at_root);
        for (k, child) in self.0.iter().enumerate() {
            for larger in child.with_leaf() {
                let mut children = self.0.clone();
                children[k] = larger;
                grown.push(children);
            }
        }
        grown
            .into_iter()
            .map(|mut children| {
                children.sort();
                Tree(children)
            })
            .collect()
    }
}

/// Rows of all stages: those of the step, the weights as the row of the derivative at the end, the extra ones.
fn all_rows(tableau: &Tableau) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = tableau.stages.iter().map(|row| row.to_vec()).collect();
    rows.push(tableau.weights.to_vec());
    rows.extend(tableau.extra_stages.iter().map(|row| row.to_vec()));
    rows
}

/// Elementary weight of a tree at every stage.
fn elementary(tree: &Tree, rows: &[Vec<f64>], known: &mut BTreeMap<Tree, Vec<f64>>) -> Vec<f64> {
    if let Some(weights) = known.get(tree) {
        return weights.clone();
    }
    let mut weights = vec![1.0; rows.len()];
    for child in &tree.0 {
        let inner = elementary(child, rows, known);
        for (weight, row) in weights.iter_mut().zip(rows) {
            *weight *= dot(row, &inner);
        }
    }
    known.insert(tree.clone(), weights.clone());
    weights
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// b(θ) of every stage.
fn dense_weights(tableau: &Tableau, theta: f64) -> Vec<f64> {
    let end = tableau.stage_count();
    let bump = theta.powi(2) * (1.0 - theta).powi(2);
    (0..tableau.dense.len())
        .map(|i| {
            let powers = tableau.dense[i].iter().rev();
            let mut weight = bump * powers.fold(0.0, |sum, d| sum * theta + d);
            if i < end {
                weight += tableau.weights[i] * theta * theta * (3.0 - 2.0 * theta);
            }
            if i == 0 {
                weight += theta * (1.0 - theta).powi(2);
            }
            if i == end {
                weight -= theta * theta * (1.0 - theta);
            }
            weight
        })
        .collect()
}

#[test]
fn trees_are_counted_as_in_the_tables() {
    let mut counts = [0; 10];
    for tree in Tree::all(9) {
        counts[tree.size()] += 1;
    }
    assert_eq!(counts, [0, 1, 1, 2, 4, 9, 20, 48, 115, 286]);
}

#[test]
fn coefficients_fulfil_all_order_conditions() {
    for method in Method::ALL {
        let tableau = method.tableau();
        let name = method.name();
        let rows = all_rows(tableau);
        let nodes: Vec<f64> = tableau
            .nodes
            .iter()
            .chain(&[1.0])
            .chain(tableau.extra_nodes)
            .copied()
            .collect();
        for (i, (row, node)) in rows.iter().zip(&nodes).enumerate() {
            assert!(row.len() <= i, "{name}: row {i} is not explicit");
            let sum: f64 = row.iter().sum();
            assert!((sum - node).abs() < 2e-14, "{name}: row {i}: {sum} {node}");
        }
        for k in 0..tableau.order {
            let moment: f64 = tableau
                .weights
                .iter()
                .zip(tableau.nodes)
                .map(|(b, c)| b * c.powi(k as i32))
                .sum();
            let exact = 1.0 / (k as f64 + 1.0);
            assert!((moment - exact).abs() < 1e-14, "{name}: moment {k}");
        }
        let mut known = BTreeMap::new();
        let mut worst = [0f64; 3];
        let mut fails_beyond = false;
        for tree in Tree::all(tableau.order + 1) {
            let g = elementary(&tree, &rows, &mut known);
            let order = tree.size();
            let solution = (dot(tableau.weights, &g) * tree.density() - 1.0).abs();
            if order > tableau.order {
                fails_beyond |= solution > 1e-8;
                continue;
            }
            worst[0] = worst[0].max(solution);
            let estimates = match tableau.error {
                ErrorEstimate::Single(e) => vec![(e, tableau.estimate_order)],
                ErrorEstimate::Pair(fifth, third) => vec![(fifth, 5), (third, 3)],
            };
            for (e, estimate_order) in estimates {
                if order <= estimate_order {
                    worst[1] = worst[1].max(dot(e, &g).abs());
                }
            }
            if order <= tableau.dense_order {
                for theta in [0.1f64, 0.3, 0.5, 0.77, 0.95] {
                    let exact = theta.powi(order as i32) / tree.density();
                    let found = dot(&dense_weights(tableau, theta), &g);
                    worst[2] = worst[2].max((found - exact).abs());
                }
            }
        }
        println!(
            "{name}: order conditions to {:.1e}, estimate {:.1e}, dense output {:.1e}",
            worst[0], worst[1], worst[2]
        );
        assert!(fails_beyond, "{name} has a higher order than it says");
        assert!(worst[0] < 1e-12, "{name}: {worst:?}");
        assert!(worst[1] < 1e-13, "{name}: {worst:?}");
        assert!(worst[2] < 1e-13, "{name}: {worst:?}");
    }
}

// ---- orders ---------------------------------------------------------------------------------------------------------------

#[test]
fn errors_fall_with_the_order_of_the_method_when_steps_are_halved() {
    for method in Method::ALL {
        // fine enough for the leading term of the error to rule, coarse enough for round-off not to
        let steps: i32 = match method.order() {
            5 | 6 => 128,
            8 => 48,
            _ => 24,
        };
        let error = |steps: i32| {
            let end = 5.0;
            let options = even_steps(end / f64::from(steps));
            let mut system = plain(4, kepler);
            let mut run = begin(method, options, &mut system, &kepler_exact(0.0)).unwrap();
            let mut orbit = 0f64;
            while run.time() < end {
                run.step(&mut system, end).unwrap();
                orbit = orbit.max(distance(run.y(), &kepler_exact(run.time())));
            }
            assert_eq!(run.statistics().steps, steps as u64);
            let run = solve(method, options, &mut plain(1, growth), &[1.0], end).unwrap();
            (orbit, (run.y()[0] - end.sin().exp()).abs())
        };
        let (coarse, fine) = (error(steps), error(2 * steps));
        let orbit = (coarse.0 / fine.0).log2();
        println!(
            "{method}: order {orbit:.2} on Kepler ({:.1e} → {:.1e}); in time {:.1e} → {:.1e}",
            coarse.0, fine.0, coarse.1, fine.1
        );
        let above = orbit - method.order() as f64;
        assert!(above > -0.35 && above < 0.75, "{method}: {orbit}");
        assert!(fine.1 < coarse.1 || fine.1 < 1e-13, "{method} in time");
    }
}

#[test]
fn dense_output_has_its_order() {
    for method in Method::ALL {
        let order = method.tableau().dense_order as f64 + 1.0;
        // error within the first step, from the exact beginning: h^(order + 1)
        let error = |size: f64| {
            let mut system = plain(4, kepler);
            let mut run = begin(method, even_steps(size), &mut system, &kepler_exact(0.0)).unwrap();
            run.step(&mut system, 10.0).unwrap();
            let mut y = [0.0; 4];
            (1..20).fold(0.0, |worst: f64, k| {
                let t = size * f64::from(k) / 20.0;
                run.interpolate(&mut system, t, &mut y).unwrap();
                worst.max(distance(&y, &kepler_exact(t)))
            })
        };
        let size = if order > 7.5 { 0.3 } else { 0.1 };
        let (coarse, fine) = (error(size), error(size / 2.0));
        let measured = (coarse / fine).log2();
        println!("{method}: error of dense output h^{measured:.2} ({coarse:.1e} → {fine:.1e})");
        assert!((measured - order).abs() < 0.6, "{method}: {measured}");
    }
}

#[test]
fn dense_output_joins_with_its_derivative() {
    for method in Method::ALL {
        let mut system = plain(4, kepler);
        let mut run = begin(
            method,
            Options::with_tolerance(1e-9),
            &mut system,
            &kepler_exact(0.0),
        )
        .unwrap();
        let mut y = [0.0; 4];
        for _ in 0..5 {
            run.step(&mut system, 10.0).unwrap();
            let delta = 1e-6;
            run.interpolate(&mut system, run.time() - delta, &mut y)
                .unwrap();
            for (k, slope) in run.derivative().iter().enumerate() {
                let found = (run.y()[k] - y[k]) / delta;
                assert!(
                    (found - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{method}"
                );
            }
            run.interpolate(&mut system, run.time(), &mut y).unwrap();
            assert_eq!(y, run.y());
            assert!(
                run.interpolate(&mut system, run.time() + 1e-9, &mut y)
                    .is_err()
            );
        }
    }
}

fn fixed_run<S: Mechanical>(
    method: FixedMethod,
    system: &mut S,
    q: &[f64],
    v: &[f64],
    steps: u32,
    end: f64,
) -> Fixed {
    let mut run = Fixed::new(method, q.len(), v.len(), end / f64::from(steps)).unwrap();
    run.start(0.0, q, v).unwrap();
    for _ in 0..steps {
        run.step(system).unwrap();
    }
    run
}

#[test]
fn fixed_methods_have_their_order_on_the_manifold() {
    let end = 3.0;
    let mut system = TorsionBody(BODY);
    let exact = solve(
        Method::Verner9,
        Options::with_tolerance(1e-14),
        &mut system,
        &BODY_START,
        end,
    )
    .unwrap();
    for method in FixedMethod::ALL {
        let mut error = |steps| {
            let run = fixed_run(
                method,
                &mut system,
                &BODY_START[..4],
                &BODY_START[4..],
                steps,
                end,
            );
            assert!((run.time() - end).abs() < 1e-14);
            assert!((norm(run.q()) - 1.0).abs() < 1e-15);
            let y: Vec<f64> = run.q().iter().chain(run.v()).copied().collect();
            distance(&y, exact.y())
        };
        let (coarse, fine) = (error(200), error(400));
        let order = (coarse / fine).log2();
        println!("{method}: order {order:.2} ({coarse:.1e} → {fine:.1e})");
        assert!(
            (order - method.order() as f64).abs() < 0.15,
            "{method}: {order}"
        );
    }
}

// ---- accuracy -------------------------------------------------------------------------------------------------------------

#[test]
fn every_method_reaches_round_off_on_smooth_problems() {
    for method in Method::ALL {
        let options = Options::with_tolerance(1e-14);
        let end = 2.0;
        let run = solve(method, options, &mut plain(2, oscillator), &[1.0, 0.0], end).unwrap();
        let oscillator_error = distance(run.y(), &[end.cos(), -end.sin()]);
        let run = solve(method, options, &mut plain(1, growth), &[1.0], end).unwrap();
        let growth_error = (run.y()[0] - end.sin().exp()).abs();
        let run = solve(
            method,
            options,
            &mut plain(4, kepler),
            &kepler_exact(0.0),
            end,
        )
        .unwrap();
        let orbit_error = distance(run.y(), &kepler_exact(end));
        println!("{method}: floors {oscillator_error:.1e} {growth_error:.1e} {orbit_error:.1e}");
        assert!(oscillator_error < 1e-13, "{method}: {oscillator_error}");
        assert!(growth_error < 1e-13, "{method}: {growth_error}");
        assert!(orbit_error < 1e-13, "{method}: {orbit_error}");
    }
}

#[test]
fn the_arenstorf_orbit_closes() {
    for method in Method::ALL {
        let run = solve(
            method,
            Options::with_tolerance(1e-13),
            &mut plain(4, arenstorf),
            &ARENSTORF_START,
            ARENSTORF_PERIOD,
        )
        .unwrap();
        let gap = distance(&run.y()[..2], &ARENSTORF_START[..2]);
        println!("{method}: Arenstorf gap {gap:.1e}, {:?}", run.statistics());
        assert!(gap < 1e-6, "{method}: {gap}");
    }
}

/// Numbers of SciPy 1.17.1: `solve_ivp(f, (0, T), y0, method="DOP853", rtol=1e-12, atol=1e-13)`; its `RK45` at the same
/// tolerances agrees with them to the digits tested.
#[test]
fn results_are_those_of_scipy() {
    let lorenz = |_t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = 10.0 * (y[1] - y[0]);
        dy[1] = y[0] * (28.0 - y[2]) - y[1];
        dy[2] = y[0] * y[1] - 8.0 / 3.0 * y[2];
    };
    let van_der_pol = |_t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = y[1];
        dy[1] = 2.0 * (1.0 - y[0] * y[0]) * y[1] - y[0];
    };
    for method in Method::ALL {
        let options = Options::with_tolerance(1e-13);
        let run = solve(method, options, &mut plain(3, lorenz), &[1.0; 3], 2.0).unwrap();
        let scipy = [-8.173499932237998, -9.562023686796717, 24.620702049672495];
        assert!(distance(run.y(), &scipy) < 2e-10, "{method}: {:?}", run.y());
        let run = solve(
            method,
            options,
            &mut plain(2, van_der_pol),
            &[2.0, 0.0],
            10.0,
        )
        .unwrap();
        let scipy = [0.841553652196352, -1.0890478568259154];
        assert!(distance(run.y(), &scipy) < 5e-12, "{method}: {:?}", run.y());
        let run = solve(
            method,
            options,
            &mut plain(4, arenstorf),
            &ARENSTORF_START,
            8.0,
        )
        .unwrap();
        let scipy = [
            -1.1745535072768243,
            -0.2759450770204743,
            -0.25317074997009614,
            0.44737674786144654,
        ];
        assert!(distance(run.y(), &scipy) < 1e-10, "{method}: {:?}", run.y());
    }
}

#[test]
fn quaternions_stay_unit_over_a_hundred_thousand_steps() {
    for method in [Method::DormandPrince5, Method::Verner9] {
        let mut system = BODY;
        let options = Options {
            max_step: 0.01,
            ..Options::with_tolerance(1e-10)
        };
        let mut run = begin(method, options, &mut system, &BODY_START).unwrap();
        let energy = BODY.energy(&BODY_START[4..]);
        let mut y = [0.0; 7];
        for k in 0..100_000 {
            run.step(&mut system, f64::INFINITY).unwrap();
            assert!((norm(&run.y()[..4]) - 1.0).abs() < 1e-14);
            if k % 100 == 0 {
                let middle = run.time() - 0.003;
                run.interpolate(&mut system, middle, &mut y).unwrap();
                assert!((norm(&y[..4]) - 1.0).abs() < 1e-14);
            }
        }
        let drift = BODY.energy(&run.y()[4..]) / energy - 1.0;
        println!("{method}: energy drift {drift:.1e} at t = {} s", run.time());
        assert!(drift.abs() < 1e-9, "{method}: {drift}");
    }
}

// ---- a million steps ------------------------------------------------------------------------------------------------------

/// Greatest energy error in the first and in the last tenth of a run.
fn energy_errors(method: FixedMethod, step: f64, steps: u32) -> (f64, f64) {
    let (q, v) = ([1.2], [0.3]);
    let mut run = Fixed::new(method, 1, 1, step).unwrap();
    run.start(0.0, &q, &v).unwrap();
    let energy = Pendulum::energy(&q, &v);
    let (mut first, mut last) = (0f64, 0f64);
    for k in 0..steps {
        run.step(&mut Pendulum).unwrap();
        let error = (Pendulum::energy(run.q(), run.v()) - energy).abs() / 9.81;
        if k < steps / 10 {
            first = first.max(error);
        }
        if k >= steps - steps / 10 {
            last = last.max(error);
        }
    }
    (first, last)
}

#[test]
fn energy_error_stays_bounded_over_a_million_steps() {
    let step = 0.01;
    let (first, last) = energy_errors(FixedMethod::ImplicitMidpoint, step, 1_000_000);
    println!("implicit midpoint: {first:.4e} first, {last:.4e} last tenth");
    assert!(first < step * step);
    assert!((last / first - 1.0).abs() < 1e-3, "{first} {last}");
    let (half, _) = energy_errors(FixedMethod::ImplicitMidpoint, step / 2.0, 10_000);
    assert!(
        ((first / half).log2() - 2.0).abs() < 0.1,
        "not of order h²: {first} {half}"
    );

    let (first, last) = energy_errors(FixedMethod::SemiImplicitEuler, step, 1_000_000);
    println!("semi-implicit Euler: {first:.4e} first, {last:.4e} last tenth");
    assert!(first < 2.0 * step);
    assert!((last / first - 1.0).abs() < 1e-3, "{first} {last}");
}

#[test]
fn midpoint_keeps_the_rigid_body() {
    let mut system = BODY;
    let run = fixed_run(
        FixedMethod::ImplicitMidpoint,
        &mut system,
        &BODY_START[..4],
        &BODY_START[4..],
        100_000,
        1000.0,
    );
    // the midpoint rule keeps quadratic invariants: the energy of Euler's equations is one
    let drift = BODY.energy(run.v()) / BODY.energy(&BODY_START[4..]) - 1.0;
    println!(
        "implicit midpoint: energy drift {drift:.1e}, {:.2} evaluations per step",
        run.statistics().evaluations as f64 / 1e5
    );
    assert!(drift.abs() < 1e-11, "{drift}");
    assert!((norm(run.q()) - 1.0).abs() < 1e-15);
    assert!(run.statistics().evaluations < 1_000_000);
}

// ---- events ---------------------------------------------------------------------------------------------------------------

/// The oscillator with the events y₀ = 0 and y₁ = ½.
struct Crossings;

impl System for Crossings {
    fn dimension(&self) -> usize {
        2
    }

    fn derivative(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<()> {
        oscillator(t, y, dy);
        Ok(())
    }

    fn event_count(&self) -> usize {
        3
    }

    fn events(&mut self, t: f64, y: &[f64], values: &mut [f64]) {
        values[0] = y[0];
        values[1] = y[1] - 0.5;
        // depends on time only, so that its zeros are known to the last bit
        values[2] = t.sin();
    }
}

fn ulp(x: f64) -> f64 {
    x.abs().next_up() - x.abs()
}

#[test]
fn events_are_located_to_round_off() {
    for method in Method::ALL {
        let options = Options::with_tolerance(1e-13);
        // y = (sin t, cos t): zero at the beginning, which is not reported
        let mut run = begin(method, options, &mut Crossings, &[0.0, 1.0]).unwrap();
        let mut found: Vec<Vec<(f64, bool)>> = vec![Vec::new(); 3];
        let mut last = 0.0;
        while run.time() < 20.0 {
            let outcome = run.step(&mut Crossings, 20.0).unwrap();
            for event in outcome.events() {
                assert!(event.time > outcome.t_old && event.time <= outcome.t);
                assert!(event.time >= last, "{method}: events are ordered");
                last = event.time;
                found[event.index].push((event.time, event.rising));
            }
        }
        for (k, &(t, rising)) in found[0].iter().enumerate() {
            assert!((t - PI * (k + 1) as f64).abs() < 1e-12, "{method}: {t}");
            assert_eq!(rising, k % 2 == 1);
        }
        for (k, &(t, rising)) in found[2].iter().enumerate() {
            let exact = PI * (k + 1) as f64;
            assert!((t - exact).abs() <= 4.0 * ulp(t), "{method}: {t} {exact}");
            assert!(t.sin() == 0.0 || (t.sin() > 0.0) == rising);
        }
        assert_eq!((found[0].len(), found[2].len()), (6, 6), "{method}");
        // cos t = ½ at ±π/3 + 2πk
        let exact: Vec<f64> = (0..8)
            .map(|k| TAU * f64::from(k / 2) + if k % 2 == 0 { PI / 3.0 } else { TAU - PI / 3.0 })
            .filter(|&t| t < 20.0)
            .collect();
        assert_eq!(found[1].len(), exact.len(), "{method}: {found:?}");
        for ((t, _), exact) in found[1].iter().zip(&exact) {
            assert!((t - exact).abs() < 1e-12, "{method}: {t} {exact}");
        }
    }
}

#[test]
fn an_event_is_met_once_when_the_run_begins_anew_there() {
    for method in Method::ALL {
        let options = Options::with_tolerance(1e-10);
        let mut run = begin(method, options, &mut Crossings, &[1.0, 0.0]).unwrap();
        let mut times = Vec::new();
        let mut y = [0.0; 2];
        while run.time() < 12.0 {
            let outcome = run.step(&mut Crossings, 12.0).unwrap();
            if let Some(event) = outcome.events().iter().find(|event| event.index == 0) {
                times.push(event.time);
                run.interpolate(&mut Crossings, event.time, &mut y).unwrap();
                run.start(&mut Crossings, event.time, &y).unwrap();
            }
        }
        assert_eq!(times.len(), 4, "{method}: {times:?}");
        for (k, t) in times.iter().enumerate() {
            assert!((t - PI * (k as f64 + 0.5)).abs() < 1e-8, "{method}: {t}");
        }
    }
}

#[test]
fn two_crossings_in_one_step_are_seen() {
    struct Arc;
    impl System for Arc {
        fn dimension(&self) -> usize {
            1
        }
        fn derivative(&mut self, _t: f64, _y: &[f64], dy: &mut [f64]) -> Result<()> {
            dy[0] = 1.0;
            Ok(())
        }
        fn event_count(&self) -> usize {
            1
        }
        fn events(&mut self, _t: f64, y: &[f64], values: &mut [f64]) {
            values[0] = (y[0] - 0.3) * (y[0] - 0.7);
        }
    }
    let options = Options {
        initial_step: Some(1.0),
        ..Options::default()
    };
    let mut run = begin(Method::Tsitouras5, options, &mut Arc, &[0.0]).unwrap();
    let outcome = run.step(&mut Arc, 1.0).unwrap();
    let times: Vec<f64> = outcome.events().iter().map(|event| event.time).collect();
    assert_eq!(times.len(), 2);
    assert!(distance(&times, &[0.3, 0.7]) < 1e-15, "{times:?}");
}

// ---- restarts -------------------------------------------------------------------------------------------------------------

#[test]
fn a_run_continued_from_a_checkpoint_has_the_same_bits() {
    let mut random = Random::new(3);
    for method in Method::ALL {
        for _ in 0..5 {
            let options = Options::with_tolerance(1e-7);
            let mut whole = begin(method, options, &mut Crossings, &[0.2, 1.0]).unwrap();
            let stop = random.uniform(1.0, 20.0) as u64;
            let mut y = [0.0; 2];
            for _ in 0..stop {
                whole.step(&mut Crossings, 1e3).unwrap();
                if random.uniform(0.0, 1.0) < 0.5 {
                    let middle = whole.time() - 1e-3;
                    whole.interpolate(&mut Crossings, middle, &mut y).unwrap();
                }
            }
            let saved = whole.checkpoint();
            let mut other = Adaptive::new(method, 2, options).unwrap();
            other.restore(&saved).unwrap();
            assert_eq!(other.checkpoint(), saved);
            let middle = whole.time() - 2e-3;
            let mut again = [0.0; 2];
            whole.interpolate(&mut Crossings, middle, &mut y).unwrap();
            other
                .interpolate(&mut Crossings, middle, &mut again)
                .unwrap();
            assert_eq!(y.map(f64::to_bits), again.map(f64::to_bits));
            for _ in 0..20 {
                let a = whole.step(&mut Crossings, 1e3).unwrap();
                let b = other.step(&mut Crossings, 1e3).unwrap();
                assert_eq!(a, b);
                assert_eq!(whole.checkpoint(), other.checkpoint());
            }
        }
        let saved = Adaptive::new(method, 2, Options::default())
            .unwrap()
            .checkpoint();
        let mut foreign = Adaptive::new(method, 3, Options::default()).unwrap();
        assert_eq!(
            foreign.restore(&saved).unwrap_err().kind(),
            ErrorKind::Input
        );
        assert!(foreign.restore(&saved[..5]).is_err());
        assert!(foreign.restore(&[]).is_err());
    }
    for method in FixedMethod::ALL {
        let mut whole = fixed_run(
            method,
            &mut BODY.clone(),
            &BODY_START[..4],
            &BODY_START[4..],
            37,
            1.0,
        );
        let mut other = Fixed::new(method, 4, 3, 1.0 / 37.0).unwrap();
        other.restore(&whole.checkpoint()).unwrap();
        for _ in 0..50 {
            whole.step(&mut BODY.clone()).unwrap();
            other.step(&mut BODY.clone()).unwrap();
        }
        assert_eq!(whole.checkpoint(), other.checkpoint());
        assert!(
            Fixed::new(method, 4, 3, 0.1)
                .unwrap()
                .restore(&whole.checkpoint())
                .is_err()
        );
    }
}

// ---- failures -------------------------------------------------------------------------------------------------------------

#[test]
fn a_motion_that_reaches_infinity_is_an_error_with_its_time() {
    for method in Method::ALL {
        // y = 1/(1 − t)
        let mut system = plain(2, |_t, y: &[f64], dy: &mut [f64]| {
            dy[0] = 0.0;
            dy[1] = y[1] * y[1];
        });
        let mut run = begin(method, Options::default(), &mut system, &[1.0, 1.0]).unwrap();
        let error = loop {
            if let Err(error) = run.step(&mut system, 2.0) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::Integration);
        assert!((run.time() - 1.0).abs() < 1e-6, "{method}: {}", run.time());
        assert_eq!(run.worst_component(), Some(1));
        assert!(run.y().iter().all(|x| x.is_finite()));
        assert!(error.message().contains("component 1"), "{error}");
        assert!(error.message().contains("at t = "), "{error}");
    }
}

/// Fails in a stated way from t = 1 on.
struct Breaks(Option<f64>);

impl System for Breaks {
    fn dimension(&self) -> usize {
        1
    }

    fn derivative(&mut self, t: f64, _y: &[f64], dy: &mut [f64]) -> Result<()> {
        if t > 1.0 {
            dy[0] = self.0.ok_or_else(|| {
                Error::new(ErrorKind::Singular, "joint `wrist` cannot move").hint("look at it")
            })?;
        } else {
            dy[0] = 1.0;
        }
        Ok(())
    }
}

#[test]
fn a_failing_derivative_is_approached_and_then_reported() {
    for method in Method::ALL {
        for value in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            let mut system = Breaks(value);
            let mut run = begin(method, Options::default(), &mut system, &[0.0]).unwrap();
            let error = loop {
                if let Err(error) = run.step(&mut system, 3.0) {
                    break error;
                }
            };
            assert!(run.time() > 1.0 - 1e-9, "{method}: {}", run.time());
            assert!((run.y()[0] - run.time()).abs() < 1e-12);
            assert!(error.message().contains("at t = "), "{error}");
            if value.is_none() {
                assert_eq!(error.kind(), ErrorKind::Singular);
                assert!(error.message().contains("wrist"), "{error}");
                assert!(error.advice().unwrap().contains("look at it"));
            } else {
                assert_eq!(error.kind(), ErrorKind::Integration);
            }
        }
    }
}

#[test]
fn senseless_settings_are_refused() {
    let refused = |options: Options| {
        assert!(
            Adaptive::new(Method::Dop853, 1, options).is_err(),
            "{options:?}"
        );
    };
    refused(Options::with_tolerance(0.0));
    refused(Options::with_tolerance(f64::NAN));
    refused(Options {
        max_step: 0.0,
        ..Options::default()
    });
    refused(Options {
        min_step: -1.0,
        ..Options::default()
    });
    refused(Options {
        initial_step: Some(f64::INFINITY),
        ..Options::default()
    });
    refused(Options {
        event_parts: 0,
        ..Options::default()
    });
    let mut system = plain(2, oscillator);
    let mut run = Adaptive::new(Method::Dop853, 2, Options::default()).unwrap();
    assert!(run.start(&mut system, 0.0, &[f64::NAN, 0.0]).is_err());
    assert!(run.start(&mut system, 0.0, &[0.0]).is_err());
    assert!(run.start(&mut system, f64::NAN, &[0.0, 1.0]).is_err());
    run.start(&mut system, 0.0, &[0.0, 1.0]).unwrap();
    assert!(run.step(&mut system, 0.0).is_err());
    assert!(run.step(&mut system, f64::NAN).is_err());
    assert!(Fixed::new(FixedMethod::RungeKutta4, 1, 1, 0.0).is_err());
    assert!(Fixed::new(FixedMethod::RungeKutta4, 1, 1, f64::NAN).is_err());
    assert!(
        "euler"
            .parse::<Method>()
            .unwrap_err()
            .advice()
            .unwrap()
            .contains("dop853")
    );
    for method in Method::ALL {
        assert_eq!(method.name().parse::<Method>().unwrap(), method);
    }
    for method in FixedMethod::ALL {
        assert_eq!(method.name().parse::<FixedMethod>().unwrap(), method);
    }
}

#[test]
fn the_smallest_step_is_no_obstacle_where_it_suffices() {
    for method in Method::ALL {
        // far from time zero, where Hairer's first step may be below the spacing of numbers
        let mut system: Box<dyn System> = Box::new(plain(2, oscillator));
        let mut run = Adaptive::new(method, 2, Options::default()).unwrap();
        run.start(system.as_mut(), 1e10, &[0.0, 1.0]).unwrap();
        while run.time() < 1e10 + 1.0 {
            run.step(system.as_mut(), 1e10 + 1.0).unwrap();
        }
        assert!((run.y()[0] - 1f64.sin()).abs() < 1e-5, "{method}");

        let options = Options {
            min_step: 1e-3,
            ..Options::with_tolerance(1e-5)
        };
        let run = solve(method, options, &mut plain(2, oscillator), &[0.0, 1.0], 1.0).unwrap();
        assert!((run.y()[0] - 1f64.sin()).abs() < 1e-4, "{method}");
        let options = Options {
            min_step: 0.5,
            ..Options::with_tolerance(1e-14)
        };
        let error = solve(
            method,
            options,
            &mut plain(4, kepler),
            &kepler_exact(0.0),
            9.0,
        );
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Integration);
    }
}

#[test]
fn an_implicit_step_that_does_not_converge_is_an_error() {
    struct Stiff;
    impl Mechanical for Stiff {
        fn position_count(&self) -> usize {
            1
        }
        fn velocity_count(&self) -> usize {
            1
        }
        fn acceleration(&mut self, _t: f64, q: &[f64], _v: &[f64], a: &mut [f64]) -> Result<()> {
            a[0] = if q[0] > 0.0 { -1e9 } else { 1e9 };
            Ok(())
        }
        fn step(&mut self, q: &mut [f64], delta: &[f64]) {
            q[0] += delta[0];
        }
    }
    let mut run = Fixed::new(FixedMethod::ImplicitMidpoint, 1, 1, 0.1).unwrap();
    run.start(5.0, &[1.0], &[0.0]).unwrap();
    let error = run.step(&mut Stiff).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Integration);
    assert!(error.message().contains("at t = 5 s"), "{error}");
    assert_eq!(
        (run.q(), run.v(), run.time()),
        (&[1.0][..], &[0.0][..], 5.0)
    );
}

#[test]
fn runs_do_not_allocate() {
    let count = || ALLOCATIONS.with(Cell::get);
    for method in Method::ALL {
        let mut system = BODY;
        let mut run = begin(method, Options::default(), &mut system, &BODY_START).unwrap();
        let mut y = [0.0; 7];
        let before = count();
        for _ in 0..50 {
            run.step(&mut system, 1e9).unwrap();
            let middle = run.time() - 1e-6;
            run.interpolate(&mut system, middle, &mut y).unwrap();
        }
        run.start(&mut system, 0.0, &BODY_START).unwrap();
        assert_eq!(count(), before, "{method}");
    }
    for method in FixedMethod::ALL {
        let mut run = Fixed::new(method, 4, 3, 0.01).unwrap();
        run.start(0.0, &BODY_START[..4], &BODY_START[4..]).unwrap();
        let before = count();
        for _ in 0..50 {
            run.step(&mut BODY.clone()).unwrap();
        }
        assert_eq!(count(), before, "{method}");
    }
}
