//! Omissions and assumptions, in a few lines.

use crate::element_tree::Node;
use crate::ignored::Ignored;
use catena::model::ModelBuilder;
use std::collections::BTreeMap;

/// Collected while the file is read.
#[derive(Default)]
pub(super) struct Notes {
    without_effect: BTreeMap<String, usize>,
    /// Count and place of the first occurrence.
    unknown: BTreeMap<String, (usize, String)>,
    pub(super) collisions: usize,
    pub(super) plugins: Vec<String>,
    /// Links without `<inertial>`.
    pub(super) without_inertial: Vec<String>,
    /// Models that do not move.
    pub(super) still: Vec<String>,
    /// Joints whose stops are soft in the file.
    pub(super) soft_stops: usize,
    /// Joints that close loops and had limits.
    pub(super) cut_limits: Vec<String>,
    pub(super) more: Vec<String>,
}

impl Notes {
    /// Counts an item without effect on the dynamics.
    pub(super) fn without_effect(&mut self, what: String) {
        *self.without_effect.entry(what).or_default() += 1;
    }

    /// Counts an unknown item that is left out.
    pub(super) fn unknown(&mut self, what: String, node: Node<'_>) {
        let first = || (0, node.place().to_string());
        self.unknown.entry(what).or_insert_with(first).0 += 1;
    }

    /// Writes the lines among the assumptions of the model.
    pub(super) fn write(self, ignored: &Ignored, builder: &mut ModelBuilder) {
        let lines = &mut builder.assumptions;
        lines.extend(self.more);
        if !self.without_inertial.is_empty() {
            lines.push(format!(
                "links without <inertial> have 1 kg and 1 kg·m² about every axis, as SDFormat says: {}",
                some(&self.without_inertial)
            ));
        }
        if !self.still.is_empty() {
            lines.push(format!(
                "models that do not move (<static>): {}",
                some(&self.still)
            ));
        }
        if self.soft_stops > 0 {
            lines.push(format!(
                "<stiffness> and <dissipation> of {} joint limits are not used: stops are rigid here",
                self.soft_stops
            ));
        }
        if !self.cut_limits.is_empty() {
            lines.push(format!(
                "limits of joints that close loops are not kept: {}",
                some(&self.cut_limits)
            ));
        }
        if self.collisions > 0 {
            lines.push(format!(
                "contacts are not modelled: {} <collision> not used",
                self.collisions
            ));
        }
        if !self.without_effect.is_empty() {
            let counts = self.without_effect.iter();
            let what: Vec<String> = counts.map(|(what, n)| format!("{n} {what}")).collect();
            lines.push(format!(
                "ignored: {} (no effect on the dynamics)",
                what.join(", ")
            ));
        }
        if !self.plugins.is_empty() {
            lines.push(format!(
                "plugins are not run, their commands are not applied: {}",
                some(&self.plugins)
            ));
        }
        for (what, (count, place)) in &self.unknown {
            lines.push(match count {
                1 => format!("left out, unknown: {what} ({place})"),
                _ => format!("left out, unknown: {count} {what}, the first at {place}"),
            });
        }
        for line in &ignored.left_out {
            lines.push(format!("left out on request: {line}"));
        }
    }
}

/// The first few names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
