//! Arrays with names, and files of them: NumPy's NPZ, a ZIP archive of NPY files, stored without compression.
//!
//! ```
//! use catena_io::arrays::{NamedArray, npz};
//!
//! let unit = NamedArray::new("unit", [2, 2], vec![1.0, 0.0, 0.0, 1.0]);
//! let bytes = npz(&[unit])?;
//! assert!(bytes.starts_with(b"PK")); // numpy.load("file.npz")["unit"]
//! # Ok::<(), catena::Error>(())
//! ```

use catena::Matrix;
use catena::algorithm::natural_orthogonal_complement::Denoc;
use catena::error::{Error, ErrorKind, Result};

/// Numbers in the order of C: the last index runs fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    /// Its name.
    pub name: &'static str,
    /// Length along every axis.
    pub shape: Vec<usize>,
    /// As many numbers as the product of the lengths.
    pub numbers: Vec<f64>,
}

impl NamedArray {
    /// The numbers must be as many as the shape says.
    pub fn new(name: &'static str, shape: impl Into<Vec<usize>>, numbers: Vec<f64>) -> Self {
        let shape = shape.into();
        debug_assert_eq!(shape.iter().product::<usize>(), numbers.len());
        NamedArray {
            name,
            shape,
            numbers,
        }
    }

    /// A matrix.
    pub fn matrix(name: &'static str, matrix: &Matrix) -> Self {
        let shape = [matrix.rows(), matrix.columns()];
        NamedArray::new(name, shape, matrix.as_slice().to_vec())
    }

    fn rows<const N: usize>(name: &'static str, rows: impl Iterator<Item = [f64; N]>) -> Self {
        let numbers: Vec<f64> = rows.flatten().collect();
        NamedArray::new(name, [numbers.len() / N, N], numbers)
    }

    fn blocks(name: &'static str, blocks: impl Iterator<Item = [[f64; 6]; 6]>) -> Self {
        let numbers: Vec<f64> = blocks.flatten().flatten().collect();
        NamedArray::new(name, [numbers.len() / 36, 6, 6], numbers)
    }

    /// Arrays of several states in one, with an additional leading axis.
    pub fn stacked(states: Vec<Vec<NamedArray>>) -> Vec<NamedArray> {
        let count = states.len();
        let mut states = states.into_iter();
        let mut all = states.next().unwrap_or_default();
        for state in states {
            for (all, one) in all.iter_mut().zip(state) {
                all.numbers.extend(one.numbers);
            }
        }
        for array in &mut all {
            array.shape.insert(0, count);
        }
        all
    }
}

/// N_l has 36 n² numbers, T_l 36 nv², and U is made by products of such matrices: models with more freedoms are rejected.
pub const MOST_FREEDOMS: usize = 200;

/// Everything of a complement by name, in SI units. Blocks of B_ij are those of N_l; M, M̃ (`M_composite`) have a block per body, M̂
/// (`M_articulated`), p, ψ and m̂ one per freedom.
pub fn complement(it: &Denoc<f64>) -> Vec<NamedArray> {
    let (bodies, freedoms) = (1..=it.body_count(), 0..it.nv());
    vec![
        NamedArray::rows("c", bodies.clone().map(|i| it.mass_centre(i).to_array())),
        NamedArray::rows("p", freedoms.clone().map(|k| it.column(k).to_array())),
        NamedArray::matrix("N_l", &it.nl()),
        NamedArray::matrix("N_d", &it.nd()),
        NamedArray::matrix("N", &it.n()),
        NamedArray::matrix("T_l", &it.tl()),
        NamedArray::matrix("T_d", &it.td()),
        NamedArray::blocks("M", bodies.clone().map(|i| it.extended_mass(i).to_matrix())),
        NamedArray::blocks("M_composite", bodies.map(|i| it.composite(i).to_matrix())),
        NamedArray::blocks(
            "M_articulated",
            freedoms.clone().map(|k| it.articulated(k).to_matrix()),
        ),
        NamedArray::rows(
            "psi_hat",
            freedoms.clone().map(|k| it.psi_hat(k).to_array()),
        ),
        NamedArray::rows("psi", freedoms.map(|k| it.psi(k).to_array())),
        NamedArray::new("m_hat", [it.nv()], it.pivots().to_vec()),
        NamedArray::matrix("U", &it.u()),
        NamedArray::matrix("I", &it.inertia()),
        NamedArray::matrix("N_dot", &it.n_rate()),
        NamedArray::matrix("C", &it.coriolis()),
    ]
}

/// The arrays as one NPZ file.
pub fn npz(arrays: &[NamedArray]) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for array in arrays {
        archive.store(&format!("{}.npy", array.name), &npy(array))?;
    }
    archive.finish(arrays.len())
}

/// One array as an NPY file, version 1.0: doubles, little-endian.
fn npy(array: &NamedArray) -> Vec<u8> {
    let mut shape = String::new();
    for length in &array.shape {
        shape += &format!("{length}, ");
    }
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape}), }}");
    // magic, version and length are 10 bytes; the numbers begin at a multiple of 64
    let padding = 64 - (10 + header.len() + 1) % 64;
    header.extend(std::iter::repeat_n(' ', padding % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for number in &array.numbers {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

/// A ZIP archive whose files are stored without compression.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
}

/// Version 2.0 of the format; no flags, no compression; midnight of 1 January 1980, the first date it can represent.
const PLAIN: [u16; 5] = [20, 0, 0, 0, 0x21];

impl Archive {
    fn store(&mut self, name: &str, contents: &[u8]) -> Result<()> {
        let start = short(self.bytes.len())?;
        let size = short(contents.len())?;
        let crc = crc32fast::hash(contents);
        let mut common = Vec::new();
        common.extend(PLAIN.iter().flat_map(|x| x.to_le_bytes()));
        common.extend([crc, size, size].iter().flat_map(|x| x.to_le_bytes()));
        // lengths of the name and of extra fields
        let lengths = [name.len() as u16, 0];
        common.extend(lengths.iter().flat_map(|x| x.to_le_bytes()));
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&common);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(contents);
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(20u16.to_le_bytes());
        self.directory.extend(&common);
        // no comment, first disk, no attributes
        self.directory.extend([0; 10]);
        self.directory.extend(start.to_le_bytes());
        self.directory.extend(name.as_bytes());
        Ok(())
    }

    fn finish(mut self, files: usize) -> Result<Vec<u8>> {
        let (start, size) = (short(self.bytes.len())?, short(self.directory.len())?);
        let files = (files as u16).to_le_bytes();
        self.bytes.extend(&self.directory);
        self.bytes.extend(b"PK\x05\x06");
        self.bytes.extend([0; 4]);
        self.bytes.extend(files);
        self.bytes.extend(files);
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(start.to_le_bytes());
        self.bytes.extend([0; 2]);
        Ok(self.bytes)
    }
}

/// Sizes of the archive have 32 bits.
fn short(size: usize) -> Result<u32> {
    u32::try_from(size).map_err(|_| {
        Error::new(ErrorKind::Input, "an NPZ file cannot be larger than 4 GB")
            .hint("write fewer states at a time")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use catena::algorithm::natural_orthogonal_complement::mass_centres;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }

    /// The arrays of a complement have the shapes that their indices say, and I = Σ Nᵢᵀ Mᵢ Nᵢ over the bodies; those of two states have an axis more.
    #[test]
    fn arrays_of_a_complement() {
        let model = catena::model::embedded::model("stanford").expect("embedded");
        let state = catena::State::random(&model, 1);
        let centres = mass_centres(&model);
        let it = Denoc::new(&model, &centres, &state.q, &state.v, &state.base);
        let all = complement(&it);
        let of = |name: &str| all.iter().find(|a| a.name == name).expect("there");
        for (name, shape) in [
            ("c", &[6, 3][..]),
            ("p", &[6, 6]),
            ("N_l", &[36, 36]),
            ("N", &[36, 6]),
            ("M", &[6, 6, 6]),
            ("M_articulated", &[6, 6, 6]),
            ("psi", &[6, 6]),
            ("m_hat", &[6]),
            ("I", &[6, 6]),
        ] {
            assert_eq!(of(name).shape, shape, "{name}");
        }
        let (n, m, inertia) = (of("N"), of("M"), of("I"));
        for i in 0..6 {
            for j in 0..6 {
                let mut sum = 0.0;
                for body in 0..6 {
                    for (a, b) in (0..36).map(|k| (k / 6, k % 6)) {
                        let twist =
                            |row: usize, freedom: usize| n.numbers[(6 * body + row) * 6 + freedom];
                        sum += twist(a, i) * m.numbers[36 * body + 6 * a + b] * twist(b, j);
                    }
                }
                assert!((sum - inertia.numbers[6 * i + j]).abs() < 1e-12, "{i} {j}");
            }
        }
        let both = NamedArray::stacked(vec![all.clone(), all.clone()]);
        assert_eq!(both[0].shape, [2, 6, 3]);
        assert_eq!(
            both[0].numbers,
            [&all[0].numbers[..], &all[0].numbers].concat()
        );
    }

    #[test]
    fn the_directory_points_to_files_with_their_checksums() {
        let one = NamedArray::new("one", [3], vec![1.0, -2.5, 1e300]);
        let two = NamedArray::new("two", [1, 2, 2], vec![0.0, 1.0, 2.0, 3.0]);
        let bytes = npz(&[one, two]).expect("small");
        let end = bytes.len() - 22;
        assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
        let mut at = word(&bytes, end + 16) as usize;
        assert_eq!(at + word(&bytes, end + 12) as usize, end);
        for (name, numbers) in [
            ("one.npy", vec![1.0, -2.5, 1e300]),
            ("two.npy", vec![0.0, 1.0, 2.0, 3.0]),
        ] {
            assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
            let (crc, size) = (word(&bytes, at + 16), word(&bytes, at + 20) as usize);
            let start = word(&bytes, at + 42) as usize;
            assert_eq!(&bytes[at + 46..at + 46 + name.len()], name.as_bytes());
            let contents = &bytes[start + 30 + name.len()..][..size];
            assert_eq!(crc32fast::hash(contents), crc);
            assert!(contents.starts_with(b"\x93NUMPY\x01\x00"));
            let header = 10 + usize::from(contents[8]) + 256 * usize::from(contents[9]);
            assert_eq!(header % 64, 0);
            let read: Vec<f64> = contents[header..]
                .chunks_exact(8)
                .map(|x| f64::from_le_bytes(x.try_into().expect("eight bytes")))
                .collect();
            assert_eq!(read, numbers);
            at += 46 + name.len();
        }
    }
}
