//! Vectors of three and symmetric matrices, where the algorithms that the laws exercise do not use all of them.

use catena::spatial::{Sym3, Vec3};

#[test]
fn a_symmetric_matrix_times_its_inverse_is_one() {
    let matrix = Sym3::new(2.0, 3.0, 4.0, 0.5, -0.25, 0.75);
    let inverse = matrix.inverse();
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for [x, y, z] in axes {
        let unit = Vec3::new(x, y, z);
        let back: Vec3<f64> = matrix * (inverse * unit);
        for (found, right) in back.to_array().into_iter().zip(unit.to_array()) {
            assert!((found - right).abs() < 1e-15, "{back:?}");
        }
    }
}

#[test]
fn subtraction_in_place_is_subtraction() {
    let (a, b) = (Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.25, 4.0, -8.0));
    let mut found = a;
    found -= b;
    assert_eq!(found.to_array(), (a - b).to_array());
    found += b;
    assert_eq!(found.to_array(), a.to_array());
}
