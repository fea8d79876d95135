//! Coefficients fulfil the order conditions.

use catena::integrate::tableau::ErrorEstimate;
use catena::integrate::{Method, Tableau};
use catena::residual::larger;
use std::collections::BTreeMap;

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
            worst[0] = larger(worst[0], solution);
            let estimates = match tableau.error {
                ErrorEstimate::Single(e) => vec![(e, tableau.estimate_order)],
                ErrorEstimate::Pair(fifth, third) => vec![(fifth, 5), (third, 3)],
            };
            for (e, estimate_order) in estimates {
                if order <= estimate_order {
                    worst[1] = larger(worst[1], dot(e, &g).abs());
                }
            }
            if order <= tableau.dense_order {
                for theta in [0.1f64, 0.3, 0.5, 0.77, 0.95] {
                    let exact = theta.powi(order as i32) / tree.density();
                    let found = dot(&dense_weights(tableau, theta), &g);
                    worst[2] = larger(worst[2], (found - exact).abs());
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
