//! How MJCF files are read: numbers by closed forms, what becomes of joints, equalities and actuators, and what is refused.
//!
//! `python/tests/test_mjcf.py` compares the files of this folder with MuJoCo.

mod actuators;
mod bodies;
mod common;
mod drawing;
mod equalities;
mod files;
mod joints;
mod meshes;
mod notes;
mod refusals;
mod shapes;
