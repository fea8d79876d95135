//! Omissions and assumptions, in a few lines.

use super::actuator::some;
use super::compiler::Dynamics;
use crate::ignored::Ignored;
use catena::model::ModelBuilder;
use std::collections::BTreeMap;

/// Collected while the file is read.
#[derive(Default)]
pub(super) struct Notes {
    without_effect: BTreeMap<String, usize>,
    pub(super) geoms: usize,
    pub(super) contacts: bool,
    pub(super) limits: usize,
    pub(super) frictions: usize,
    pub(super) equalities: usize,
    pub(super) inactive: usize,
    pub(super) mocap: Vec<String>,
    pub(super) ball_limits: Vec<String>,
    pub(super) tendon_limits: Vec<String>,
    pub(super) servos: Vec<String>,
    pub(super) alignfree: bool,
    pub(super) more: Vec<String>,
}

impl Notes {
    /// Counts an element that has no effect on the dynamics.
    pub(super) fn without_effect(&mut self, tag: &str) {
        *self.without_effect.entry(format!("<{tag}>")).or_default() += 1;
    }

    /// Writes the lines among the assumptions of the model.
    pub(super) fn write(self, ignored: &Ignored, dynamics: &Dynamics, builder: &mut ModelBuilder) {
        let lines = &mut builder.assumptions;
        let mut soft: Vec<String> = Vec::new();
        for (count, what) in [
            (self.equalities, "equality constraints"),
            (self.limits, "joint limits"),
            (self.frictions, "dry friction of joints"),
        ] {
            if count > 0 {
                soft.push(format!("{what} ({count})"));
            }
        }
        if !soft.is_empty() {
            lines.push(format!(
                "MuJoCo treats {} as soft constraints; here they are exact, limits where they are enforced",
                soft.join(", ")
            ));
        }
        if self.contacts || self.geoms > 0 {
            lines.push(format!(
                "contacts are not modelled: {} <geom> contribute mass at most",
                self.geoms
            ));
        }
        if !self.without_effect.is_empty() {
            let counts = self
                .without_effect
                .iter()
                .map(|(what, n)| format!("{n} {what}"));
            let what: Vec<String> = counts.collect();
            lines.push(format!(
                "ignored: {} (no effect on the dynamics)",
                what.join(", ")
            ));
        }
        if !dynamics.method.is_empty() {
            let method = dynamics.method.join(", ");
            lines.push(format!(
                "ignored: {method} of <option> (MuJoCo's numerical method)"
            ));
        }
        if self.inactive > 0 {
            lines.push(format!(
                "{} equality constraints are not active and left out",
                self.inactive
            ));
        }
        if !self.mocap.is_empty() {
            let names: Vec<String> = self.mocap.iter().map(|name| format!("`{name}`")).collect();
            lines.push(format!(
                "bodies that MuJoCo's user moves (mocap) are at rest: {}",
                some(&names)
            ));
        }
        if !self.ball_limits.is_empty() {
            lines.push(format!(
                "limits of ball joints are not kept: {}",
                some(&self.ball_limits)
            ));
        }
        if !self.tendon_limits.is_empty() {
            lines.push(format!(
                "limits of tendons are not kept: {}",
                some(&self.tendon_limits)
            ));
        }
        if !self.servos.is_empty() {
            lines.push(format!(
                "servos are effort inputs here; their set points and gains are not used: {}",
                some(&self.servos)
            ));
        }
        if self.alignfree {
            lines.push("free bodies keep the frame of the file (alignfree is not applied)".into());
        }
        lines.extend(self.more);
        for line in &ignored.left_out {
            lines.push(format!("left out on request: {line}"));
        }
    }
}
