//! Mufti's description of a tree of hinged bodies: incidence and path matrices, barycentres and the matrix K.
//!
//! ```text
//! L_ij = ± (hinge j − mass centre of body i)          + where the hinge leaves the body, − where it enters
//! D = −L T                                            on the ground
//! D = −L T₂ (1 − M 1 1ᵀ / m)                          floating: T₂ is T without the row of the root
//! K = diag(I_i) − Σ_k m_k D̃_ik D̃_jk                   inertia matrix of the bodies' own rotations
//! ```
//!
//! D_ik points from the barycentre of body i to its hinge towards body k; D_ii to its mass centre. Every hinge is taken as a
//! spherical joint here; for a sliding joint the current hinge point on the child is used.

use super::multibody::Multibody;
use super::report::Numbers;
use super::response::Response;
use catena::Matrix;
use catena::model::JointKind;
use catena::spatial::{Mat3, Vec3};

/// Joints that count: all of a tree on the ground, all except the root's of a floating tree.
fn hinges(multibody: &Multibody) -> &[usize] {
    if multibody.model.tree().is_free_floating() {
        &multibody.children[1..]
    } else {
        &multibody.children
    }
}

/// The incidence matrix: +1 at the body a joint leaves, −1 at the body it enters.
pub(super) fn incidence(multibody: &Multibody) -> Numbers {
    let matrix = multibody.model.tree().incidence_matrix();
    let rows = multibody.bodies.iter().map(|&body| {
        let row = &matrix[body - 1];
        Numbers::list(
            hinges(multibody)
                .iter()
                .map(|&child| f64::from(row[child - 1])),
        )
    });
    Numbers::List(rows.collect())
}

/// The path matrix T, one row per joint, including the root's.
pub(super) fn paths(multibody: &Multibody) -> Numbers {
    let matrix = multibody.model.tree().path_matrix();
    let rows = multibody.children.iter().map(|&child| {
        let row = &matrix[child - 1];
        Numbers::list(
            multibody
                .bodies
                .iter()
                .map(|&body| f64::from(row[body - 1])),
        )
    });
    Numbers::List(rows.collect())
}

/// D, by bodies of the case.
fn barycentre_vectors(multibody: &Multibody, response: &Response) -> Vec<Vec<Vec3<f64>>> {
    let Multibody { model, bodies, .. } = multibody;
    let tree = model.tree();
    let path = tree.path_matrix();
    let floating = tree.is_free_floating();
    let total = model.mass();
    let mut vectors = Vec::new();
    for &i in bodies {
        // −L T, row of body i
        let mut row = vec![Vec3::zero(); bodies.len()];
        for &child in hinges(multibody) {
            let sign = match i {
                _ if tree.parent(child) == i => 1.0,
                _ if child == i => -1.0,
                _ => continue,
            };
            let lever = response.bodies[child].hinge - response.bodies[i].position;
            for (entry, &k) in row.iter_mut().zip(bodies) {
                *entry -= lever * (sign * f64::from(path[child - 1][k - 1]));
            }
        }
        if floating {
            let mut mean = Vec3::zero();
            for (entry, &k) in row.iter().zip(bodies) {
                mean += *entry * (model.inertial(k).mass / total);
            }
            row.iter_mut().for_each(|entry| *entry -= mean);
        }
        vectors.push(row);
    }
    vectors
}

/// D as the case lists it.
pub(super) fn barycentres(multibody: &Multibody, response: &Response) -> Numbers {
    let vectors = barycentre_vectors(multibody, response);
    Numbers::list(vectors.into_iter().map(Numbers::list))
}

/// K from D and, where every hinge is a spherical joint, from catena's inertia matrix as well.
pub(super) fn rotational_inertia(
    multibody: &Multibody,
    response: &Response,
    inertia: &Matrix,
) -> Vec<Numbers> {
    let Multibody { model, bodies, .. } = multibody;
    let vectors = barycentre_vectors(multibody, response);
    let n = bodies.len();
    let mut k = Matrix::zeros(3 * n, 3 * n);
    for i in 0..n {
        for j in 0..n {
            let mut block = Mat3::zero();
            if i == j {
                let rotation = response.bodies[bodies[i]].body_rotation;
                block = model.inertial(bodies[i]).tensor.conjugate(rotation).full();
            }
            for (l, &body) in bodies.iter().enumerate() {
                let mass = model.inertial(body).mass;
                let product = Mat3::skew(vectors[i][l]) * Mat3::skew(vectors[j][l]);
                block = block - product * mass;
            }
            place(&mut k, 3 * i, 3 * j, block);
        }
    }
    let other = by_inertia_matrix(multibody, response, inertia);
    let routes = [other, Some(k)];
    routes.iter().flatten().map(Numbers::from).collect()
}

/// K as the inertia matrix of the bodies' absolute angular velocities, the translation of the root eliminated.
///
/// The rate of a spherical joint in child axes is Rᵀ (ω − ω of the parent), so Wᵀ I W with that W is the inertia matrix of the
/// angular velocities ω and, in a floating tree, of the velocity of the root's hinge point.
fn by_inertia_matrix(
    multibody: &Multibody,
    response: &Response,
    inertia: &Matrix,
) -> Option<Matrix> {
    let Multibody { model, bodies, .. } = multibody;
    let tree = model.tree();
    let floating = tree.is_free_floating();
    let balls = model.bodies().all(|body| match tree.bodies[body].kind {
        JointKind::Spherical => true,
        JointKind::Free => floating && tree.parent(body) == 0,
        _ => false,
    });
    if !balls || (0..model.nv()).any(|k| model.dof(k).armature != 0.0) {
        return None;
    }
    let columns = 3 * bodies.len();
    let mut w = Matrix::zeros(model.nv(), columns + 3);
    for body in model.bodies() {
        let mut first = tree.bodies[body].v;
        if tree.bodies[body].kind == JointKind::Free {
            // the root's hinge point moves in the joint's own axes, whichever they are
            place(&mut w, first, columns, Mat3::identity());
            first += 3;
        }
        let into_body = response.bodies[body].body_rotation.transpose();
        let column = |of: usize| bodies.iter().position(|&other| other == of);
        place(&mut w, first, 3 * column(body)?, into_body);
        if let Some(parent) = column(tree.parent(body)) {
            place(&mut w, first, 3 * parent, into_body * -1.0);
        }
    }
    let all = w.transpose().product(&inertia.product(&w));
    let mut k = Matrix::zeros(columns, columns);
    let mass = model.mass();
    for i in 0..columns {
        for j in 0..columns {
            let coupled = (0..3).map(|x| all[(i, columns + x)] * all[(columns + x, j)]);
            k[(i, j)] = all[(i, j)] - coupled.sum::<f64>() / mass;
        }
    }
    Some(k)
}

fn place(matrix: &mut Matrix, row: usize, column: usize, block: Mat3<f64>) {
    for (i, values) in block.rows().into_iter().enumerate() {
        for (j, value) in values.into_iter().enumerate() {
            matrix[(row + i, column + j)] = value;
        }
    }
}
