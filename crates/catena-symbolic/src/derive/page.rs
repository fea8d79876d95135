//! The contents of a page of equations.

use super::document::{Block, Document, Line, Span, spans};
use super::names::Letters;
use super::{
    Complement, ConstraintRows, Equations, Independent, Notation, Part, Recursion, Symbols,
    Verification, elements, has_passive_forces, names, paper, verify,
};
use crate::Formula;
use crate::formula::rounded;
use crate::math::Math;
use catena::Model;
use catena::error::Result;
use catena::model::Couplings;

/// Names of the entries of a matrix, by row and column.
type Entry<'a> = &'a dyn Fn(usize, usize) -> Math;
/// Title, letter, names of the entries, columns, formulas, and whether it is symmetric.
type Group<'a> = (
    &'static str,
    Math,
    Entry<'a>,
    usize,
    &'a Option<Vec<Formula>>,
    bool,
);

/// How the equations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Every entry as one formula: for small systems, as in textbooks.
    Closed,
    /// The recursions of the papers, step by step, with names for intermediate quantities.
    Recursive(Notation),
}

/// The equations of a model in one style.
#[derive(Clone, Debug)]
pub struct Derivation {
    /// Name of the model.
    pub name: String,
    /// The closed form, if that is the style.
    pub equations: Option<Equations>,
    /// The recursions, if that is the style.
    pub recursion: Option<Recursion>,
    /// Is the elimination shown?
    pub elimination: bool,
    /// What was verified.
    pub verification: Verification,
    /// The couplings of the model, if it has any: the equations are those of its tree.
    pub couplings: Option<Couplings>,
    /// For a model with couplings in closed form: its equations in the independent freedoms.
    pub independent: Option<Independent>,
    /// The constraints of a closed chain: the equations are those of its tree.
    pub constraints: Option<ConstraintRows>,
    /// The tree.
    pub(super) model: Model,
}

/// Matrices of more freedoms than this are not drawn.
const DRAWN: usize = 8;
/// For more freedoms than this the elimination is described, not listed.
const LISTED: usize = 12;
/// Formulas of the factors with more terms than this are written in names.
const SHORT: usize = 8;
/// Matrices whose rows are narrower than this are drawn, others are listed by their entries.
const NARROW: usize = 70;

const COUPLED: &str = "Some coordinates follow others. With $G$ the constant matrix whose rows are unit vectors for the independent freedoms and the \
    numbers of this table for the others, $q_{tree} = G q + c$ and $v_{tree} = G v$; the efforts of the independent freedoms are $G^T \\tau$, \
    and their inertia matrix is $G^T I G$.";

const PARTS: &str = "A ratio of turning joints is not a whole number: sines of parts of an angle have no formula here. The recursive style with $G$ has it, \
    and a program (catena generate).";

const OF_TREE: &str = "What follows is for the tree, with every joint free.";

const CLOSED: &str = "Constraints close loops. The equations below are those of the tree with its loops open. With the constraints $\\xi = 0$ and a \
    multiplier $\\lambda$ for each of their independent rows the mechanism obeys $I \\dot{v} + C v + g = \\tau + J^T \\lambda$ and \
    $J \\dot{v} + \\gamma = 0$. Lengths in these rows are numbers.";

const CONVENTIONS: &str = "SI units and radians. $a_i$ is joint $i$ in the frame of the body before it, $c_i$ the mass centre and $J_i$ the \
    inertia tensor about it, in the axes of body $i$, whose z is the axis of its joint. Dry friction is left out. \
    Coefficients are rounded to twelve digits.";

const FORCES: &str = "Force elements act on the bodies. Their numbers are not symbols; what has a root or a branch has a name, with the number of its element: length $\\ell$, \
    tension $F$, deflection $\\phi$, torque $T$, and $e$ for others. $[a < b]$ is one where that holds, and zero elsewhere.";

const PASSIVE: &str = "Joints have springs of stiffness $k$, at rest at $\\bar{q}$, or dampers of coefficient $b$: their effort $s = k (q - \\bar{q}) + b v$ is part of $\\tau$.";

impl Derivation {
    /// Derives and verifies the equations of a model.
    pub fn new(
        model: &Model,
        symbols: impl Into<Symbols>,
        style: Style,
        elimination: bool,
    ) -> Result<Self> {
        let symbols = symbols.into();
        let couplings = model.couplings().cloned();
        let constraints = ConstraintRows::new(model)?;
        let model = &model.clone().open_tree();
        let mut verification = verify(model)?;
        let equations = (style == Style::Closed)
            .then(|| Equations::new(model, symbols.clone()))
            .transpose()?;
        if let Some(Equations {
            elements: Some(elements),
            values,
            ..
        }) = &equations
        {
            verification.loads = elements.difference(model, values);
        }
        let closed = style == Style::Closed;
        let recursion = match style {
            Style::Closed => None,
            Style::Recursive(notation) => Some(Recursion::new(model, symbols.clone(), notation)?),
        };
        verification.steps = recursion.as_ref().map(|steps| steps.difference(model));
        let independent = match &couplings {
            Some(couplings) if closed => Some(Independent::new(model, couplings, &symbols)?),
            _ => None,
        };
        Ok(Derivation {
            independent,
            name: model.name().into(),
            equations,
            recursion,
            elimination,
            verification,
            couplings,
            constraints,
            model: model.clone(),
        })
    }

    /// The symbols of the model's numbers, with their values.
    pub fn values(&self) -> &[(String, f64)] {
        match (&self.equations, &self.recursion) {
            (Some(equations), _) => &equations.values,
            (_, Some(recursion)) => &recursion.values,
            _ => &[],
        }
    }

    /// Are velocities the rates of the positions?
    fn plain(&self) -> bool {
        self.model.nq() == self.model.nv()
    }

    fn is_of_the_papers(&self) -> bool {
        let recursion = self.recursion.as_ref();
        recursion.is_some_and(|it| it.notation == Notation::Paper)
    }

    fn symbol(&self, name: &str) -> Math {
        let letters = match (self.plain(), self.is_of_the_papers()) {
            (true, true) => Letters::Paper,
            (true, false) => Letters::Rates,
            (false, _) => Letters::Velocities,
        };
        names::math(name, letters)
    }

    fn terms(&self, formula: &Formula) -> Vec<(bool, Math)> {
        formula.math(&|name| self.symbol(name))
    }

    /// The page.
    pub fn document(&self) -> Document {
        let mut blocks = vec![Block::Paragraph(spans(CONVENTIONS))];
        if has_passive_forces(&self.model) {
            blocks.push(Block::Paragraph(spans(PASSIVE)));
        }
        self.coordinates(&mut blocks);
        self.force_elements(&mut blocks);
        self.followers(&mut blocks);
        self.loops(&mut blocks);
        if !self.values().is_empty() {
            let rows = self.values().iter().map(|(name, value)| {
                let value = Span::Text(rounded(*value));
                vec![vec![Span::Math(self.symbol(name))], vec![value]]
            });
            blocks.push(Block::Table(
                vec![spans("symbol"), spans("value")],
                rows.collect(),
            ));
        }
        if let Some(independent) = &self.independent {
            self.independent(independent, &mut blocks);
        }
        if let Some(equations) = &self.equations {
            self.closed(equations, &mut blocks);
        }
        if let Some(recursion) = &self.recursion {
            self.recursive(recursion, &mut blocks);
        }
        if self.elimination {
            self.eliminated(&mut blocks);
        }
        blocks.push(Block::Heading(spans("Verified")));
        blocks.push(Block::Paragraph(spans(&self.verdict())));
        Document {
            title: format!("Equations of motion of {}", self.name),
            blocks,
        }
    }

    /// What was verified, in words.
    pub fn verdict(&self) -> String {
        let Verification {
            proved,
            product,
            meaning,
            steps,
            loads,
        } = self.verification;
        let size = product.max(meaning).max(1e-16);
        let identity = match proved {
            Some(true) => format!(
                "$I = U D U^T$ holds identically, whatever the numbers of the model are: recursion and elimination have the same $U$ and $D$, and every \
                 eliminated entry is $p_i^T \\hat{{M}}_{{ik}} B_{{ij}} p_j$ (zero test of expressions). In numbers at random states: to {size:.0e} of \
                 the largest entry."
            ),
            _ => format!(
                "$I = U D U^T$, recursion and elimination having the same $U$ and $D$, and every eliminated entry being \
                 $p_i^T \\hat{{M}}_{{ik}} B_{{ij}} p_j$, were verified in numbers at random states: to {size:.0e} of the largest entry."
            ),
        };
        let identity = match loads {
            Some(loads) => format!(
                "{identity} The efforts $w$ of the force elements are the library's at random states: to {:.0e} of the largest.",
                loads.max(1e-16)
            ),
            None => identity,
        };
        match steps {
            Some(steps) => format!(
                "{identity} The steps above, evaluated in order at random states, give the library's $\\tau$, $I$, $U$, $D$ and $\\dot{{v}}$: to {:.0e} of the largest of each.",
                steps.max(1e-16)
            ),
            None => identity,
        }
    }

    fn coordinates(&self, blocks: &mut Vec<Block>) {
        let tree = self.model.tree();
        if self.model.nv() > 4 * LISTED {
            return;
        }
        let mut rows = Vec::new();
        for (k, dof) in tree.dofs.iter().enumerate() {
            let body = &tree.bodies[dof.body];
            let symbol = match self.plain() {
                true => self.symbol(&format!("q[{k}]")),
                false => self.symbol(&format!("v[{k}]")),
            };
            rows.push(vec![
                vec![Span::Math(symbol)],
                vec![Span::Text(dof.name.clone())],
                vec![Span::Text(format!(
                    "{} joint of body {}, {}",
                    body.kind.name(),
                    dof.body,
                    body.name
                ))],
            ]);
        }
        let head = ["freedom", "name", "moves"].map(spans).to_vec();
        blocks.push(Block::Table(head, rows));
    }

    /// Which force elements there are, and their laws.
    fn force_elements(&self, blocks: &mut Vec<Block>) {
        let forces = self.model.forces();
        if forces.is_empty() {
            return;
        }
        let rows = forces.iter().enumerate().map(|(k, element)| {
            vec![
                vec![Span::Text((k + 1).to_string())],
                vec![Span::Text(element.name.to_string())],
                vec![Span::Text(element.kind().replace('_', " "))],
                spans(&elements::law(&element.law)),
            ]
        });
        let head = ["force element", "name", "kind", "law"].map(spans).to_vec();
        blocks.push(Block::Paragraph(spans(FORCES)));
        blocks.push(Block::Table(head, rows.collect()));
    }

    /// Which coordinates follow others, and the form of the equations of the tree in the independent ones.
    fn followers(&self, blocks: &mut Vec<Block>) {
        let Some(couplings) = &self.couplings else {
            return;
        };
        let letter = if self.plain() { "q" } else { "v" };
        let symbol = |k: usize| Span::Math(self.symbol(&format!("{letter}[{k}]")));
        let mut rows = Vec::new();
        for follower in couplings.followers() {
            let mut how = Vec::new();
            if self.plain() && (follower.offset != 0.0 || follower.terms.is_empty()) {
                how.push(Span::Text(rounded(follower.offset)));
            }
            for (at, ratio) in &follower.terms {
                let plus = if how.is_empty() { "" } else { " + " };
                how.push(Span::Text(format!("{plus}{} ", rounded(*ratio))));
                how.push(symbol(couplings.freedoms()[at.v]));
            }
            rows.push(vec![
                vec![symbol(follower.coordinate.v)],
                how,
                vec![Span::Text(follower.coupling.to_string())],
            ]);
        }
        blocks.push(Block::Heading(spans("Couplings")));
        blocks.push(Block::Paragraph(spans(COUPLED)));
        let head = ["follows", "as", "by the coupling"].map(spans).to_vec();
        blocks.push(Block::Table(head, rows));
    }

    /// The equations with the couplings substituted.
    fn independent(&self, it: &Independent, blocks: &mut Vec<Block>) {
        let n = it.freedoms.len();
        let why = if self.has_whole_ratios() {
            TOO_LONG
        } else {
            PARTS
        };
        let number = |i: usize| it.freedoms[i] + 1;
        let two = |letter: &'static str| {
            move |i: usize, j: usize| {
                Math::parse(&format!("{letter}_{{{},{}}}", number(i), number(j)))
            }
        };
        let one = |letter: &'static str| {
            move |i: usize, _: usize| Math::parse(&format!("{letter}_{{{}}}", number(i)))
        };
        let (i_entry, c_entry) = (two("\\bar{I}"), two("\\bar{C}"));
        let (g_entry, tau_entry) = (one("\\bar{g}"), one("\\bar{\\tau}"));
        let s_entry = one("\\bar{s}");
        let w_entry = one("\\bar{w}");
        let groups: [Group<'_>; 6] = [
            (
                "Independent freedoms: inertia matrix $\\bar{I} = G^T I G$",
                Math::parse("\\bar{I}"),
                &i_entry,
                n,
                &it.inertia,
                true,
            ),
            (
                "Independent freedoms: $\\bar{C} = G^T C G$",
                Math::parse("\\bar{C}"),
                &c_entry,
                n,
                &it.coriolis,
                false,
            ),
            (
                "Independent freedoms: gravity $\\bar{g} = G^T g$",
                Math::parse("\\bar{g}"),
                &g_entry,
                1,
                &it.gravity,
                false,
            ),
            (
                "Independent freedoms: springs and dampers $\\bar{s} = G^T s$",
                Math::parse("\\bar{s}"),
                &s_entry,
                1,
                &it.passive,
                false,
            ),
            (
                "Independent freedoms: force elements $\\bar{w} = G^T w$, in the quantities of the tree",
                Math::parse("\\bar{w}"),
                &w_entry,
                1,
                &it.loads,
                false,
            ),
            (
                "Independent freedoms: efforts $\\bar{\\tau} = G^T \\tau$",
                Math::parse("\\bar{\\tau}"),
                &tau_entry,
                1,
                &it.effort,
                false,
            ),
        ];
        let passive = has_passive_forces(&self.model);
        for (title, letter, entry, columns, formulas, symmetric) in groups {
            if letter == Math::parse("\\bar{s}") && !passive
                || letter == Math::parse("\\bar{w}") && self.model.forces().is_empty()
            {
                continue;
            }
            blocks.push(Block::Heading(spans(title)));
            blocks.push(match formulas {
                Some(list) => self.matrix(letter, entry, columns, list, symmetric),
                None => Block::Paragraph(spans(why)),
            });
        }
        blocks.push(Block::Paragraph(spans(OF_TREE)));
    }

    /// Whether rotations are coupled by integers.
    fn has_whole_ratios(&self) -> bool {
        let followers = self.couplings.iter().flat_map(Couplings::followers);
        let tree = self.model.tree();
        let turning = followers.filter(|f| tree.dofs[f.coordinate.v].force_unit != "N");
        let mut ratios = turning.flat_map(|f| f.terms.iter().map(|(_, ratio)| *ratio));
        ratios.all(|ratio| ratio.fract() == 0.0)
    }

    /// The rows of the constraints, and how they complete the equations of the tree.
    fn loops(&self, blocks: &mut Vec<Block>) {
        let Some(rows) = &self.constraints else {
            return;
        };
        blocks.push(Block::Heading(spans("Constraints")));
        blocks.push(Block::Paragraph(spans(CLOSED)));
        let list = |k: usize, name: &String| {
            vec![
                vec![Span::Text(format!("{}", k + 1))],
                vec![Span::Text(name.clone())],
            ]
        };
        let all = rows.names.iter().enumerate();
        blocks.push(Block::Table(
            ["row", "of the constraint"].map(spans).to_vec(),
            all.map(|(k, name)| list(k, name)).collect(),
        ));
        if !rows.on_velocities.is_empty() {
            let list: Vec<String> = rows.on_velocities.iter().map(usize::to_string).collect();
            blocks.push(Block::Paragraph(spans(&format!(
                "Rows on velocities alone, for which $J v$ is constant: {}. Positions neither satisfy nor violate them, and their $\\xi$ is zero.",
                list.join(", ")
            ))));
        }
        if !rows.others.is_empty() {
            let others = rows.others.join(", ");
            blocks.push(Block::Paragraph(vec![Span::Text(format!(
                "Rows that follow from these, and are left out: {others}."
            ))]));
        }
        if let Some(note) = &rows.note {
            blocks.push(Block::Paragraph(spans(note)));
        }
        let numbered = |letter: &'static str| {
            move |i: usize, j: usize| {
                let indices = match letter {
                    "J" => vec![Math::number(i + 1), Math::number(j + 1)],
                    _ => vec![Math::number(i + 1)],
                };
                Math::letter(letter).with_index(Math::Row(indices))
            }
        };
        let (xi, jacobian, gamma) = (numbered("xi"), numbered("J"), numbered("gamma"));
        let width = self.model.nv();
        let groups: [Group<'_>; 3] = [
            (
                "Closure $\\xi$",
                Math::letter("xi"),
                &xi,
                1,
                &rows.residual,
                false,
            ),
            (
                "Jacobian $J$",
                Math::letter("J"),
                &jacobian,
                width,
                &rows.jacobian,
                false,
            ),
            (
                "Bias $\\gamma$",
                Math::letter("gamma"),
                &gamma,
                1,
                &rows.bias,
                false,
            ),
        ];
        for (title, letter, entry, columns, formulas, symmetric) in groups {
            blocks.push(Block::Subheading(spans(title)));
            blocks.push(match formulas {
                Some(list) => self.matrix(letter, entry, columns, list, symmetric),
                None => Block::Paragraph(spans(TOO_LONG)),
            });
        }
    }

    /// A matrix: drawn where it is small, or entry by entry.
    fn matrix(
        &self,
        letter: Math,
        entry: &dyn Fn(usize, usize) -> Math,
        columns: usize,
        formulas: &[Formula],
        symmetric: bool,
    ) -> Block {
        let written: Vec<Math> = formulas
            .iter()
            .map(|f| super::document::joined(&self.terms(f)))
            .collect();
        let rows: Vec<Vec<Math>> = written.chunks(columns).map(<[Math]>::to_vec).collect();
        let width = |row: &Vec<Math>| row.iter().map(|c| c.width() + 2).sum::<usize>();
        if columns > 1 && rows.iter().all(|row| width(row) < NARROW) {
            return Block::Equations(vec![Line {
                left: letter,
                right: vec![(false, Math::Matrix(rows))],
            }]);
        }
        let mut lines = Vec::new();
        for (at, formula) in formulas.iter().enumerate() {
            let (i, j) = (at / columns, at % columns);
            if (symmetric && i > j) || (columns > 1 && formula.is_zero()) {
                continue;
            }
            lines.push(Line {
                left: entry(i, j),
                right: self.terms(formula),
            });
        }
        Block::Equations(lines)
    }

    fn closed(&self, e: &Equations, blocks: &mut Vec<Block>) {
        let n = e.nv;
        let two = |name: &'static str| {
            move |i: usize, j: usize| names::math(&format!("{name}[{i},{j}]"), Letters::Rates)
        };
        let one = |name: &'static str| {
            move |i: usize, _: usize| names::math(&format!("{name}[{i}]"), Letters::Rates)
        };
        let tex = |text: &str| Math::parse(text);
        let (i_entry, c_entry) = (two("I"), two("C"));
        let (g_entry, tau_entry) = (one("gravity"), one("tau"));
        let s_entry = one("passive");
        let passive = has_passive_forces(&self.model);
        let efforts = match (passive, e.elements.is_some()) {
            (true, false) => "Efforts: $\\tau = I \\dot{v} + C v + g + s$",
            (false, false) => "Efforts: $\\tau = I \\dot{v} + C v + g$",
            (true, true) => "Efforts: $\\tau = I \\dot{v} + C v + g + s - w$",
            (false, true) => "Efforts: $\\tau = I \\dot{v} + C v + g - w$",
        };
        let w_entry = one("load");
        let loads = e.elements.as_ref().and_then(|found| found.efforts.clone());
        let groups: [Group<'_>; 6] = [
            (
                "Inertia matrix $I$",
                tex("I"),
                &i_entry,
                n,
                &e.inertia,
                true,
            ),
            (
                "Coriolis and centrifugal terms: $C v$; $\\dot{I} - 2 C$ is skew-symmetric",
                tex("C"),
                &c_entry,
                n,
                &e.coriolis,
                false,
            ),
            ("Gravity", tex("g"), &g_entry, 1, &e.gravity, false),
            (
                "Springs and dampers",
                tex("s"),
                &s_entry,
                1,
                &e.passive,
                false,
            ),
            (
                "Force elements: the efforts $w$ of what they do",
                tex("w"),
                &w_entry,
                1,
                &loads,
                false,
            ),
            (efforts, tex("\\tau"), &tau_entry, 1, &e.effort, false),
        ];
        for (title, letter, entry, columns, formulas, symmetric) in groups {
            if letter == tex("s") && !passive || letter == tex("w") && e.elements.is_none() {
                continue;
            }
            blocks.push(Block::Heading(spans(title)));
            if letter == tex("w") {
                self.quantities(e, blocks);
            }
            blocks.push(match formulas {
                Some(list) => self.matrix(letter, entry, columns, list, symmetric),
                None => Block::Paragraph(spans(TOO_LONG)),
            });
        }
        self.factors(e, blocks);
        if let Some(it) = &e.complement {
            self.complement(it, blocks);
        }
        let Some(base) = &e.base else { return };
        let block = two("I");
        let hat = two("Ihat");
        let titles = [
            "Base block $I_e$: the composite of all bodies",
            "Base block $\\hat{I}_e$: the same with every joint free of effort, the articulated body of the base",
        ];
        let entries: [Entry<'_>; 2] = [&block, &hat];
        let letters = [tex("I_e"), tex("\\hat{I}_e")];
        for (((title, formulas), entry), letter) in
            titles.into_iter().zip(base).zip(entries).zip(letters)
        {
            blocks.push(Block::Heading(spans(title)));
            blocks.push(match formulas {
                Some(list) => self.matrix(letter, entry, 6, list, true),
                None => Block::Paragraph(spans(TOO_LONG)),
            });
        }
    }

    /// Lengths, tensions and angles of the force elements.
    fn quantities(&self, e: &Equations, blocks: &mut Vec<Block>) {
        let elements = e.elements.as_ref();
        let quantities = elements.and_then(|found| found.quantities.as_ref());
        for (k, list) in quantities.into_iter().flatten().enumerate() {
            if list.is_empty() {
                continue;
            }
            let name = &self.model.forces()[k].name;
            blocks.push(Block::Subheading(vec![Span::Text(format!(
                "Force element {}: {name}",
                k + 1
            ))]));
            let lines = list.iter().map(|quantity| Line {
                left: self.symbol(&quantity.name),
                right: quantity.value.math(&|name| self.symbol(name)),
            });
            blocks.push(Block::Equations(lines.collect()));
        }
    }

    /// N_l by its blocks B_ij, N_d by its columns p_k.
    fn complement(&self, it: &Complement, blocks: &mut Vec<Block>) {
        let tree = self.model.tree();
        let n = self.model.body_count();
        blocks.push(Block::Heading(spans(
            "Decoupled natural orthogonal complement: $t = N v$, $N = N_l N_d$, $I = N^T M N$",
        )));
        blocks.push(Block::Paragraph(spans(
            "$t$ has the twists $(\\omega_i; \\dot{c}_i)$ of the mass centres, in the axes of the base. $B_{ij}$ carries the twist of mass centre $j$ to mass centre \
             $i$: ones on its diagonal, and below on the left the matrix of the cross product with $c_{ij}$, which leads from mass centre $i$ to mass centre $j$. $p_k$ is the \
             twist of its body per unit of freedom $k$.",
        )));
        let block = |i: usize, j: usize| match i == j {
            true => Math::number(1),
            false => names::math(&format!("B[{i},{j}]"), Letters::Rates),
        };
        let carries = |j: usize, i: usize| tree.path_to_ground(i).any(|body| body == j);
        let lower = (1..=n).map(|i| {
            let row = (1..=n).map(|j| match carries(j, i) {
                true => block(i, j),
                false => Math::number(0),
            });
            row.collect()
        });
        let columns = (1..=n).map(|i| {
            let row = (0..self.model.nv()).map(|k| match tree.dof_range(i).contains(&k) {
                true => names::math(&format!("p[{k}]"), Letters::Rates),
                false => Math::number(0),
            });
            row.collect()
        });
        let line = |left: &str, rows: Vec<Vec<Math>>| Line {
            left: Math::parse(left),
            right: vec![(false, Math::Matrix(rows))],
        };
        blocks.push(Block::Equations(vec![
            line("N_l", lower.collect()),
            line("N_d", columns.collect()),
        ]));
        let mut lines = Vec::new();
        for ([i, j], arm) in &it.arms {
            for (axis, formula) in ["x", "y", "z"].into_iter().zip(arm) {
                if !formula.is_zero() {
                    lines.push(Line {
                        left: names::math(&format!("c[{i},{j}].{axis}"), Letters::Rates),
                        right: self.terms(formula),
                    });
                }
            }
        }
        for (at, formula) in it.columns.iter().enumerate() {
            let part = ["x", "y", "z"][at % 3];
            // angular part, then the velocity of the mass centre
            let name = if at % 6 < 3 { "omega" } else { "v" };
            let part = Math::Row(vec![Math::letter(name), Math::letter(part)]);
            if !formula.is_zero() {
                let index = Math::Row(vec![Math::number(at / 6 + 1), part]);
                lines.push(Line {
                    left: Math::letter("p").with_index(index),
                    right: self.terms(formula),
                });
            }
        }
        blocks.push(Block::Equations(lines));
        blocks.push(Block::Paragraph(spans(
            "Components that are not listed are zero.",
        )));
    }

    /// U, D and ψ: as formulas where they are short, in terms of I and of each other where they are not.
    fn factors(&self, e: &Equations, blocks: &mut Vec<Block>) {
        let n = e.nv;
        let short = |list: &Option<Vec<Formula>>, at: usize, own: &str| {
            let formula = &list.as_ref()?[at];
            is_short(formula, own).then(|| self.terms(formula))
        };
        let name = |text: String| names::math(&text, Letters::Rates);
        blocks.push(Block::Heading(spans(
            "Factors $I = U D U^T$: pivots $\\hat{m}_k$, the diagonal of $D$, and the entries $\\alpha_{ik}$ of $U$ above its diagonal of ones",
        )));
        blocks.push(Block::Paragraph(spans(
            "$\\hat{m}_k$ is the inertia that the effort of freedom $k$ works against when all later ones are free of effort.",
        )));
        let mut lines = Vec::new();
        for k in (0..n).rev() {
            let later = |i: usize| {
                (k + 1..n)
                    .rev()
                    .filter(move |&l| self.coupled(i, l) && self.coupled(k, l))
                    .map(move |l| {
                        let mut parts = vec![names::math(&format!("d[{l}]"), Letters::Rates)];
                        let alpha =
                            |i: usize| names::math(&format!("alpha[{i},{l}]"), Letters::Rates);
                        match i == k {
                            true => parts.push(alpha(i).with_power(Math::number(2))),
                            false => parts.extend([alpha(i), alpha(k)]),
                        }
                        (true, Math::Row(parts))
                    })
            };
            let right = short(&e.pivots, k, "").unwrap_or_else(|| {
                let own = (false, name(format!("I[{k},{k}]")));
                std::iter::once(own).chain(later(k)).collect()
            });
            lines.push(Line {
                left: name(format!("d[{k}]")),
                right,
            });
            for i in (0..k).rev().filter(|&i| self.coupled(i, k)) {
                let right = short(&e.u, i * n + k, &format!("d[{k}]")).unwrap_or_else(|| {
                    let own = (false, name(format!("I[{i},{k}]")));
                    let above: Vec<_> = std::iter::once(own).chain(later(i)).collect();
                    let above = Box::new(super::document::joined(&above));
                    let below = Box::new(name(format!("d[{k}]")));
                    vec![(false, Math::Fraction(above, below))]
                });
                lines.push(Line {
                    left: name(format!("alpha[{i},{k}]")),
                    right,
                });
            }
        }
        blocks.push(Block::Equations(lines));
        blocks.push(Block::Heading(spans(
            "$\\psi_k = \\hat{M}_k p_k / \\hat{m}_k$: moment, then force, in body axes about the joint",
        )));
        let (mut lines, mut left_out) = (Vec::new(), false);
        for (at, formula) in e.psi.iter().flatten().enumerate() {
            let part = ["nx", "ny", "nz", "fx", "fy", "fz"][at % 6];
            let left = name(format!("psi[{}].{part}", at / 6));
            // for small systems in full, as in textbooks
            let whole = (n <= WHOLE).then(|| self.terms(formula));
            match short(&e.psi, at, &format!("d[{}]", at / 6)).or(whole) {
                Some(right) if !formula.is_zero() => lines.push(Line { left, right }),
                Some(_) => {}
                None => left_out = true,
            }
        }
        if !lines.is_empty() {
            blocks.push(Block::Equations(lines));
        }
        if left_out || e.psi.is_none() {
            blocks.push(Block::Paragraph(spans(
                "Components that are not zero and not listed are long: the recursive style has them by names.",
            )));
        }
    }

    /// Is one freedom on the path of the other to the ground?
    fn coupled(&self, i: usize, k: usize) -> bool {
        let tree = self.model.tree();
        let (i, k) = (tree.dofs[i].body, tree.dofs[k].body);
        i == k || tree.path_to_ground(k).any(|body| body == i)
    }

    fn recursive(&self, recursion: &Recursion, blocks: &mut Vec<Block>) {
        if self.is_of_the_papers() {
            for paragraph in paper::NOTATION {
                blocks.push(Block::Paragraph(spans(paragraph)));
            }
            if !self.plain() {
                blocks.push(Block::Paragraph(spans(
                    "Velocities $v$ and their rates stand for the papers' $\\dot{\\theta}$ and $\\ddot{\\theta}$: they are not the rates of the positions.",
                )));
            }
        }
        blocks.push(Block::Paragraph(spans(
            "Components that are zero, a number, or one symbol times a number have no name of their own and stand where they are used.",
        )));
        let mut last = None;
        for section in &recursion.sections {
            if section.definitions.is_empty() {
                continue;
            }
            if last != Some(section.part) {
                match recursion.notation {
                    Notation::Catena => {
                        let (title, laws) = law(section.part);
                        blocks.push(Block::Heading(spans(title)));
                        for law in laws {
                            blocks.push(Block::Paragraph(spans(law)));
                        }
                    }
                    Notation::Paper => self.steps_of_the_papers(section.part, blocks),
                }
                last = Some(section.part);
            }
            let about = match section.element {
                Some(k) => format!("Force element {}: {}", k + 1, self.model.forces()[k].name),
                None => {
                    let body = &self.model.tree().bodies[section.body];
                    format!("Body {}: {}", section.body, body.name)
                }
            };
            blocks.push(Block::Subheading(vec![Span::Text(about)]));
            let lines = section.definitions.iter().map(|definition| Line {
                left: self.symbol(&definition.name),
                right: definition.value.math(&|name| self.symbol(name)),
            });
            blocks.push(Block::Equations(lines.collect()));
        }
    }

    /// A part of the papers' recursions: each step with the numbers of its equations and the library's name for the same
    /// quantity.
    fn steps_of_the_papers(&self, part: Part, blocks: &mut Vec<Block>) {
        let (title, explanation, steps) = paper::law(part);
        blocks.push(Block::Heading(spans(title)));
        blocks.push(Block::Paragraph(spans(explanation)));
        let is_free = self.model.tree().is_free_floating();
        let steps = steps.iter().filter(|step| is_free || !step.of_free_base);
        let rows = steps.map(|step| [step.step, step.equations, step.here].map(spans).to_vec());
        blocks.push(Block::Table(
            ["step", "equations", "here"].map(spans).to_vec(),
            rows.collect(),
        ));
    }

    /// l with its indices and the step.
    fn reduced(&self, i: usize, j: usize, k: usize) -> Math {
        let place = names::math(&format!("l[{i},{j}]"), Letters::Rates);
        place.with_power(Math::Parentheses(Box::new(Math::number(k + 1))))
    }

    fn eliminated(&self, blocks: &mut Vec<Block>) {
        let (n, tree) = (self.model.nv(), self.model.tree());
        blocks.push(Block::Heading(spans("Elimination")));
        for law in ELIMINATION {
            blocks.push(Block::Paragraph(spans(law)));
        }
        if n > LISTED {
            return;
        }
        let steps = self.equations.as_ref().and_then(|e| e.elimination.as_ref());
        let alpha = |i: usize, k: usize| names::math(&format!("alpha[{i},{k}]"), Letters::Rates);
        for k in (1..n).rev() {
            let mut heading = spans(&format!("Step $k = {}$: ", k + 1));
            heading.push(Span::Text(tree.dofs[k].name.clone()));
            blocks.push(Block::Subheading(heading));
            let step = steps.and_then(|steps| steps.iter().find(|step| step.k == k));
            let before = |i: usize, j: usize| match k + 1 == n {
                // the matrix itself
                true => names::math(&format!("I[{i},{j}]"), Letters::Rates),
                false => self.reduced(i, j, k + 1),
            };
            let mut lines = Vec::new();
            for i in (0..k).filter(|&i| self.coupled(i, k)) {
                let right = match step {
                    Some(step) if is_short(&step.alpha[i], &format!("d[{k}]")) => {
                        self.terms(&step.alpha[i])
                    }
                    _ => {
                        let pivot = names::math(&format!("d[{k}]"), Letters::Rates);
                        let above = Box::new(before(k, i));
                        vec![(false, Math::Fraction(above, Box::new(pivot)))]
                    }
                };
                let left = alpha(i, k);
                lines.push(Line { left, right });
            }
            if n <= DRAWN {
                lines.push(self.elementary(k));
                lines.push(self.skeleton(k));
            }
            for i in 0..k {
                for j in (0..=i).filter(|&j| self.coupled(j, i)) {
                    let left = self.reduced(i, j, k);
                    let formula = step.map(|step| &step.reduced[i * n + j]);
                    let right = match formula {
                        Some(short) if is_short(short, &format!("d[{k}]")) => self.terms(short),
                        _ if self.coupled(i, k) && self.coupled(j, k) => vec![
                            (false, before(i, j)),
                            (true, Math::Row(vec![alpha(i, k), before(k, j)])),
                        ],
                        _ => vec![(false, before(i, j))],
                    };
                    lines.push(Line { left, right });
                }
            }
            blocks.push(Block::Equations(lines));
            let mut rows = Vec::new();
            for i in (0..k).rev() {
                rows.push(vec![
                    vec![
                        Span::Math(self.reduced(i, i, k)),
                        Span::Text(" and left of it".into()),
                    ],
                    self.meaning(i, k),
                ]);
            }
            rows.push(vec![
                spans(&format!("row {}", k + 1)),
                spans(&format!(
                    "$\\hat{{m}}_{0} \\alpha_{{j{0}}}$: articulated body {1}, all outboard joints free; part of $D U^T$ from now on",
                    k + 1,
                    tree.dofs[k].body
                )),
            ]);
            blocks.push(Block::Table(vec![spans("entries"), spans("meaning")], rows));
        }
    }

    /// Meaning of the entries of row i after step k.
    fn meaning(&self, i: usize, k: usize) -> Vec<Span> {
        let tree = self.model.tree();
        let body = tree.dofs[i].body;
        // bodies locked to it, and those on eliminated joints
        let (mut locked, mut free) = (Vec::new(), Vec::new());
        let mut within = vec![false; tree.bodies.len()];
        let mut rigid = vec![false; tree.bodies.len()];
        within[body] = true;
        rigid[body] = true;
        for b in body..tree.bodies.len() {
            if b != body {
                let parent = tree.parent(b);
                within[b] = parent != 0 && within[parent];
                rigid[b] = within[b] && rigid[parent] && tree.dof_range(b).end <= k;
            }
            match (within[b], rigid[b]) {
                (true, true) => locked.push(b.to_string()),
                (true, false) => free.push(b.to_string()),
                _ => {}
            }
        }
        let formula = format!(
            "$p_{0}^T \\hat{{M}}_{{{0},{1}}} B_{{{0}j}} p_j$: ",
            i + 1,
            k + 1
        );
        let locked = match locked.len() {
            1 => format!("body {}", locked[0]),
            _ => format!("composite of bodies {}", locked.join(", ")),
        };
        let free = match (free.len(), i + 1 == k) {
            (0, _) => String::new(),
            (1, _) => format!(", body {} on its free joint", free[0]),
            _ => format!(", bodies {} on their free joints", free.join(", ")),
        };
        let next = match i + 1 == k {
            true => format!(
                "; the articulated body, $l_{{{0}{0}}} = \\hat{{m}}_{0}$",
                i + 1
            ),
            false => String::new(),
        };
        spans(&format!("{formula}{locked}{free}{next}"))
    }

    /// Eₖ = 1 − αₖ eₖᵀ.
    fn elementary(&self, k: usize) -> Line {
        let n = self.model.nv();
        let cell = |i: usize, j: usize| match (i, j) {
            _ if i == j => Math::number(1),
            (i, j) if j == k && i < k => Math::Row(vec![
                Math::operator("-"),
                names::math(&format!("alpha[{i},{k}]"), Letters::Rates),
            ]),
            _ => Math::number(0),
        };
        let rows = (0..n).map(|i| (0..n).map(|j| cell(i, j)).collect());
        Line {
            left: Math::letter("E").with_index(Math::number(k + 1)),
            right: vec![(false, Math::Matrix(rows.collect()))],
        }
    }

    /// Lₖ = Eₖ Lₖ₊₁ by the names of its entries.
    fn skeleton(&self, k: usize) -> Line {
        let n = self.model.nv();
        let cell = |i: usize, j: usize| {
            if i >= k {
                // a row of D Uᵀ
                return match j {
                    j if j > i => Math::number(0),
                    j if j == i => names::math(&format!("d[{i}]"), Letters::Rates),
                    j => Math::Row(vec![
                        names::math(&format!("d[{i}]"), Letters::Rates),
                        names::math(&format!("alpha[{j},{i}]"), Letters::Rates),
                    ]),
                };
            }
            match j < k {
                true => self.reduced(i.max(j), i.min(j), k),
                false => Math::number(0),
            }
        };
        let rows = (0..n).map(|i| (0..n).map(|j| cell(i, j)).collect());
        Line {
            left: Math::letter("L").with_index(Math::number(k + 1)),
            right: vec![(false, Math::Matrix(rows.collect()))],
        }
    }
}

/// Up to this many freedoms ψ is written out whatever its length.
const WHOLE: usize = 3;

/// Whether it has few terms, and no pivots except its own.
fn is_short(formula: &Formula, own: &str) -> bool {
    let foreign = |name: &&str| name.starts_with("d[") && *name != own;
    formula.term_count() <= SHORT && !formula.symbols().iter().any(foreign)
}

/// Description of the elimination.
const ELIMINATION: [&str; 3] = [
    "For $k = n, \\ldots, 2$ column $k$ above the diagonal is eliminated: $\\alpha_{ik} = l_{ik} / l_{kk}$, $E_k = 1 - \\alpha_k e_k^T$, $L_k = E_k L_{k+1}$, \
     beginning with $L_{n+1} = I$. In the end $E_2 \\ldots E_n I = L_2 = D U^T$, and the $\\alpha_{ik}$ are the entries of $U$.",
    "Every entry keeps a meaning. Before the first step $i_{ij} = p_i^T \\tilde{M}_i B_{ij} p_j$ for $j \\le i$: the wrench that the composite body $i$ (all bodies from \
     $i$ on, locked to each other) needs when freedom $j$ accelerates, projected onto freedom $i$. To eliminate freedom $k$ is to set it free of effort: after step $k$ \
     the entries are $l_{ij}^{(k)} = p_i^T \\hat{M}_{ik} B_{ij} p_j$, with the bodies before joint $k$ still locked and those from $k$ on moving on their joints.",
    "When its own turn comes $\\hat{M}_{k,k+1} = \\hat{M}_k$ is the articulated body $k$, and the pivot $l_{kk} = \\hat{m}_k = p_k^T \\hat{M}_k p_k$. That the inertia needed \
     for one step is that of the step before, seen from the next body, is why U and D can be had in O(n).",
];

/// Title and laws of a recursion.
fn law(part: Part) -> (&'static str, &'static [&'static str]) {
    match part {
        Part::Constants => (
            "Constants of the bodies",
            &[
                "First moment $h_i = m_i c_i$ and inertia tensor $A_i$ about the joint, where they are more than one number or symbol.",
            ],
        ),
        Part::Motion => (
            "Inverse dynamics, base to tips: motion",
            &[
                "Angular velocity $\\omega_i$, angular acceleration $\\dot{\\omega}_i$ and acceleration $\\ddot{r}_i$ of the joint's origin, in the axes of body $i$; the ground \
                 accelerates by $-g$. With $p$ the parent body, $R$ the rotation of body $i$ in it and $a$ its joint:",
                "$\\omega_i = R^T \\omega_p + e \\dot{q}_i$, $\\dot{\\omega}_i = R^T \\dot{\\omega}_p + e \\ddot{q}_i + \\omega_i \\times e \\dot{q}_i$, \
                 $\\ddot{r}_i = R^T (\\ddot{r}_p + \\dot{\\omega}_p \\times a + \\omega_p \\times (\\omega_p \\times a))$ for a revolute joint.",
            ],
        ),
        Part::Elements => (
            "Force elements",
            &[
                "Axes $R_i$ and origins $o_i$ in the world of the bodies that elements act on, and of those before them; where forces depend on velocities, the velocity $u_i$ of the \
                 origin in the axes of body $i$. $w_i$ is the wrench of all elements on body $i$, moment then force, in its axes about its joint; it is subtracted from the loads.",
            ],
        ),
        Part::Load => (
            "Inverse dynamics, tips to base: loads",
            &[
                "Force $f_i = m_i \\ddot{r}_i + \\dot{\\omega}_i \\times h_i + \\omega_i \\times (\\omega_i \\times h_i) + \\sum R f_c$ and moment \
               $n_i = h_i \\times \\ddot{r}_i + A_i \\dot{\\omega}_i + \\omega_i \\times A_i \\omega_i + \\sum (R n_c + a \\times R f_c)$ through the joint, with the children $c$ of the body; \
               $\\tau_k = p_k^T (n_i; f_i)$.",
            ],
        ),
        Part::Composite => (
            "Inertia matrix: composite bodies",
            &[
                "Mass $\\tilde{m}_i$, first moment $\\tilde{h}_i$ and inertia tensor $\\tilde{A}_i$ of body $i$ and all outboard bodies, locked to each other; $\\bar{h}_i$ and $\\bar{A}_i$ are the same \
               in the axes of the parent. $(N_{ki}; F_{ki})$ is the wrench that body $i$ needs when freedom $k$ alone accelerates, and $I_{jk} = p_j^T (N_{ki}; F_{ki})$ for the \
               freedoms $j$ of body $i$.",
            ],
        ),
        Part::Articulated => (
            "Factors: articulated bodies",
            &[
                "Articulated inertia $\\hat{M}_i$ of body $i$, with all outboard joints free: blocks $\\hat{A}$ (moment by angular acceleration), $\\hat{B}$ (moment by linear), \
                 $\\hat{C}$ (force by linear). $\\hat{\\psi}_k = \\hat{M}_i p_k$, $\\hat{m}_k = p_k^T \\hat{\\psi}_k$, $\\psi_k = \\hat{\\psi}_k / \\hat{m}_k$.",
                "The parent receives $\\hat{M}' = \\hat{M} - \\hat{\\psi} \\psi^T$, in its axes $\\bar{A}$, $\\bar{B}$, $\\bar{C}$. $D$ has the $\\hat{m}_k$, $U$ the $\\alpha_{jk} = p_j^T \\psi_k$ with $\\psi_k$ \
                 carried to the joint of $j$.",
            ],
        ),
        Part::Reduction => (
            "Forward dynamics, tips to base",
            &[
                "$\\beta_k$ are the efforts of the inverse dynamics above at $\\dot{v} = 0$. $\\hat{\\tau}_k = \\tau_k - \\beta_k - p_k^T \\eta_i$; $\\eta_i + \\psi_k \\hat{\\tau}_k$ is passed to the parent.",
            ],
        ),
        Part::Substitution => (
            "Forward dynamics, base to tips",
            &[
                "$\\dot{v}_k = \\hat{\\tau}_k / \\hat{m}_k - \\psi_k^T (\\mu; \\nu)$ with the twist rate $(\\mu; \\nu)$ that body $i$ has from its parent; $p_k \\dot{v}_k$ is added to it.",
            ],
        ),
    }
}

const TOO_LONG: &str =
    "Too many terms to read: take the recursive style, or a program (catena generate).";
