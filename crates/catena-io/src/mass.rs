//! Mass, mass centre and inertia of bodies.

use catena::elementary;
use catena::model::{Inertial, LinkSpec};
use catena::spatial::{Mat3, Pose, Sym3, Vec3};

/// Mass properties, with the inertia in its own axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mass {
    pub(crate) mass: f64,
    /// Mass centre and axes in the frame of the body.
    pub(crate) at: Pose<f64>,
    /// Inertia about the mass centre, in those axes.
    pub(crate) tensor: Sym3<f64>,
}

impl Mass {
    /// The mass properties of several parts together; none if they have no mass.
    pub(crate) fn sum(parts: &[Mass]) -> Option<Mass> {
        if let [only] = parts {
            return Some(*only);
        }
        let mass: f64 = parts.iter().map(|part| part.mass).sum();
        let mut first = Vec3::zero();
        for part in parts {
            first += part.at.translation * part.mass;
        }
        if mass < 1e-15 {
            return None;
        }
        let centre = first * (1.0 / mass);
        let mut tensor = Sym3::zero();
        for part in parts {
            let arm = part.at.translation - centre;
            // the parallel axis theorem: m (d² − d dᵀ)
            let moved = Sym3::outer(arm).trace_minus();
            tensor = tensor
                + part
                    .tensor
                    .conjugate(part.at.rotation)
                    .add_scaled(moved, part.mass);
        }
        Some(Mass {
            mass,
            at: Pose::shift(centre),
            tensor,
        })
    }

    /// The mass properties with all masses multiplied.
    pub(crate) fn scaled(mut self, factor: f64) -> Mass {
        self.mass *= factor;
        self.tensor = self.tensor.map(|entry| entry * factor);
        self
    }

    /// Raises the mass and the principal moments to at least these values.
    pub(crate) fn bounded(self, mass: f64, moment: f64) -> Mass {
        let (moments, axes) = principal(self.tensor);
        let larger = Mass {
            mass: self.mass.max(mass),
            ..self
        };
        match moments.iter().all(|own| *own >= moment) {
            true => larger,
            false => larger.with_moments(moments.map(|own| own.max(moment)), axes),
        }
    }

    /// Where the moments violate the triangle inequality: three equal ones with the same sum.
    pub(crate) fn balanced(self) -> Mass {
        let ([large, middle, small], axes) = principal(self.tensor);
        if large <= middle + small {
            return self;
        }
        let mean = (large + middle + small) / 3.0;
        self.with_moments([mean; 3], axes)
    }

    fn with_moments(self, [x, y, z]: [f64; 3], axes: Mat3<f64>) -> Mass {
        Mass {
            at: Pose::new(self.at.rotation * axes, self.at.translation),
            tensor: Sym3::new(x, y, z, 0.0, 0.0, 0.0),
            ..self
        }
    }

    /// Sets them on a link.
    pub(crate) fn put(&self, link: &mut LinkSpec) {
        let inertial = Inertial {
            mass: self.mass,
            centre: self.at.translation,
            tensor: self.tensor,
        };
        let axes = self.at.rotation;
        if axes == Mat3::identity() {
            link.inertial = Some(inertial);
        } else {
            link.set_turned(inertial, axes);
        }
    }
}

/// Principal moments, the largest first, and their axes as columns of a rotation, by Jacobi's method.
pub(crate) fn principal(tensor: Sym3<f64>) -> ([f64; 3], Mat3<f64>) {
    principal_within(tensor, 1e-17)
}

/// Principal moments and axes, up to products of inertia below a fraction of the largest entry.
pub(crate) fn principal_within(tensor: Sym3<f64>, fraction: f64) -> ([f64; 3], Mat3<f64>) {
    let mut axes = Mat3::identity();
    let mut turned = tensor;
    for _ in 0..50 {
        let Sym3 {
            xx,
            yy,
            zz,
            xy,
            xz,
            yz,
        } = turned;
        let (pp, qq, pq, p, q) = if xy.abs() > xz.abs() && xy.abs() > yz.abs() {
            (xx, yy, xy, 0, 1)
        } else if xz.abs() > yz.abs() {
            (xx, zz, xz, 0, 2)
        } else {
            (yy, zz, yz, 1, 2)
        };
        if pq.abs() <= fraction * xx.abs().max(yy.abs()).max(zz.abs()) {
            break;
        }
        let turn = plane_rotation(pp, qq, pq, p, q);
        axes = axes * turn;
        turned = tensor.conjugate(axes.transpose());
    }
    let moments = [turned.xx, turned.yy, turned.zz];
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| moments[j].total_cmp(&moments[i]));
    let columns = [axes.x, axes.y, axes.z];
    let [x, y, z] = order.map(|k| columns[k]);
    // a right-handed frame
    let z = if x.cross(y).dot(z) < 0.0 { -z } else { z };
    (order.map(|k| moments[k]), Mat3::from_columns(x, y, z))
}

/// The rotation in the plane of two axes that makes the entry `pq` vanish.
fn plane_rotation(pp: f64, qq: f64, pq: f64, p: usize, q: usize) -> Mat3<f64> {
    let theta = (qq - pp) / (2.0 * pq);
    let t = match theta == 0.0 {
        true => 1.0,
        false => theta.signum() / (theta.abs() + elementary::hypot(theta, 1.0)),
    };
    let c = 1.0 / elementary::hypot(t, 1.0);
    let s = t * c;
    let mut rows = Mat3::<f64>::identity().rows();
    rows[p][p] = c;
    rows[q][q] = c;
    rows[p][q] = s;
    rows[q][p] = -s;
    Mat3::from_rows(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::from_rpy;

    /// A tensor is its principal moments in its principal axes.
    #[test]
    fn principal_axes_rebuild_the_tensor() {
        let turned = Sym3::new(3.0, 2.0, 1.5, 0.0, 0.0, 0.0).conjugate(from_rpy([0.4, -1.1, 2.0]));
        for tensor in [
            turned,
            Sym3::isotropic(2.0),
            Sym3::new(2.0, 2.0, 2.0, 1e-9, 0.0, 0.0),
        ] {
            let (moments, axes) = principal(tensor);
            assert!(moments[0] >= moments[1] && moments[1] >= moments[2]);
            let [x, y, z] = moments;
            let again = Sym3::new(x, y, z, 0.0, 0.0, 0.0).conjugate(axes);
            let off = (again - tensor).full();
            for entry in off.rows().as_flattened() {
                assert!(entry.abs() < 1e-14, "{off:?}");
            }
            assert!((axes.x.cross(axes.y).dot(axes.z) - 1.0).abs() < 1e-14);
        }
    }

    /// Two halves of a rod are the rod.
    #[test]
    fn parts_add_up() {
        let half = |x: f64| Mass {
            mass: 1.0,
            at: Pose::shift(Vec3::new(x, 0.0, 0.0)),
            tensor: Sym3::new(0.0, 1.0 / 12.0, 1.0 / 12.0, 0.0, 0.0, 0.0),
        };
        let rod = Mass::sum(&[half(0.5), half(1.5)]).expect("it has mass");
        assert_eq!(rod.mass, 2.0);
        assert_eq!(rod.at.translation.to_array(), [1.0, 0.0, 0.0]);
        assert!((rod.tensor.yy - 2.0 * 4.0 / 12.0).abs() < 1e-15);
        assert_eq!(rod.tensor.xx, 0.0);
    }

    #[test]
    fn bounds_and_balance() {
        let thin = Mass {
            mass: 1e-3,
            at: Pose::identity(),
            tensor: Sym3::new(1e-9, 3.0, 1.0, 0.0, 0.0, 0.0),
        };
        let bounded = thin.bounded(0.1, 1e-6);
        let (moments, _) = principal(bounded.tensor);
        assert_eq!((bounded.mass, moments), (0.1, [3.0, 1.0, 1e-6]));
        let (moments, _) = principal(bounded.balanced().tensor);
        assert_eq!(moments, [(3.0 + 1.0 + 1e-6) / 3.0; 3]);
    }
}
