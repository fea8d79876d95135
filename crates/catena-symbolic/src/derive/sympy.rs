//! Equations as a Python module for SymPy.

use super::{Derivation, Equations, Quantity, Recursion, has_passive_forces, names};
use crate::Formula;
use catena::text::shown;
use std::fmt::Write;

impl Derivation {
    /// The module: matrices in closed form, or `steps`, a list of symbols with their definitions.
    pub fn sympy(&self) -> String {
        let mut text = format!(
            "\"\"\"Equations of motion of {}, derived by catena {}.\n\n",
            shown(&self.name).replace(['"', '\\'], " "),
            env!("CARGO_PKG_VERSION")
        );
        text += match self.recursion {
            Some(_) => {
                "`steps` are pairs of a symbol and what it stands for, in order; `evaluate` gives all their numbers.\n\"\"\"\n\n"
            }
            None => {
                "Symbols d1, d2, ... in quotients are the entries of `d`. `values` are the model's numbers.\n\"\"\"\n\n"
            }
        };
        text += match self.model.forces().is_empty() {
            true => "from sympy import Matrix, cos, sin, symbols\n\n",
            false => "from sympy import Matrix, Piecewise, atan2, cos, sin, sqrt, symbols\n\n",
        };
        let mut inputs: Vec<String> = (0..self.model.nq()).map(|k| format!("q[{k}]")).collect();
        let mut arrays = vec!["v", "vdot"];
        match self.recursion {
            Some(_) => arrays.extend(["tau", "bias"]),
            None => arrays.push("d"),
        }
        for name in arrays {
            inputs.extend((0..self.model.nv()).map(|k| format!("{name}[{k}]")));
        }
        inputs.extend(self.values().iter().map(|(name, _)| name.clone()));
        let elements = self.equations.as_ref().and_then(|e| e.elements.as_ref());
        let quantities = elements.and_then(|e| e.quantities.as_ref());
        let quantities: Vec<&Quantity> = quantities.into_iter().flatten().flatten().collect();
        inputs.extend(quantities.iter().map(|quantity| quantity.name.clone()));
        for name in &inputs {
            declare(&mut text, name);
        }
        text += "\nvalues = {";
        let values: Vec<String> = self
            .values()
            .iter()
            .map(|(name, value)| format!("{}: {value:?}", names::python(name)))
            .collect();
        text += &values.join(", ");
        text += "}\n";
        if !quantities.is_empty() {
            text += "\n# of force elements: pairs of a symbol and what it stands for, in order\nquantities = [\n";
            for quantity in quantities {
                let value = quantity.value.sympy(names::python);
                let _ = writeln!(text, "    ({}, {value}),", names::python(&quantity.name));
            }
            text += "]\n";
        }
        if let Some(equations) = &self.equations {
            self.matrices(equations, &mut text);
        }
        if let Some(recursion) = &self.recursion {
            steps(recursion, &inputs, &mut text);
        }
        if let Some((rows, offset)) = self.coupling_matrix() {
            text += "\n# couplings: the coordinates of the tree are G * (independent ones) + c, efforts G.T * tau, inertia G.T * I * G\n";
            let _ = writeln!(text, "G = Matrix({rows:?})\nc = Matrix({offset:?})");
        }
        let independent = self.python_independent();
        if !independent.is_empty() {
            text += "\n# the same with the couplings put in: independent freedoms only, with their symbols of the tree\n";
        }
        for (name, rows) in independent {
            let _ = match rows {
                Some(rows) => {
                    let rows = rows.iter().map(|row| format!("[{}]", row.join(", ")));
                    let rows = rows.collect::<Vec<_>>().join(",\n    ");
                    writeln!(text, "{name}_independent = Matrix([\n    {rows},\n])")
                }
                None => writeln!(text, "# {name}_independent is too long to read"),
            };
        }
        if let Some(groups) = self.python_constraints() {
            text += "\n# constraints: xi = 0, J_xi * vdot + gamma = 0, I * vdot + C * v + g_q = tau + J_xi.T * multipliers\nt = symbols(\"t\")\n";
            for (name, rows) in groups {
                let _ = match rows {
                    Some(rows) => writeln!(
                        text,
                        "{name} = Matrix([{}])",
                        rows.iter()
                            .map(|row| format!("[{}]", row.join(", ")))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                    None => writeln!(text, "# {name} has too many terms to read"),
                };
            }
        }
        text
    }

    /// The matrices in the independent freedoms as Python expressions, row by row: I, C, gravity, passive where joints have springs
    /// or dampers, tau; None for one that is too long. Empty without couplings.
    pub fn python_independent(&self) -> Vec<(&'static str, Option<Vec<Vec<String>>>)> {
        let Some(it) = &self.independent else {
            return Vec::new();
        };
        let n = it.freedoms.len().max(1);
        let mut groups = vec![
            ("I", &it.inertia, n),
            ("C", &it.coriolis, n),
            ("gravity", &it.gravity, 1),
            ("tau", &it.effort, 1),
        ];
        if has_passive_forces(&self.model) {
            groups.insert(3, ("passive", &it.passive, 1));
        }
        if !self.model.forces().is_empty() {
            groups.insert(3, ("loads", &it.loads, 1));
        }
        let rows = |list: &Vec<Formula>, columns: usize| -> Vec<Vec<String>> {
            let rows = list.chunks(columns);
            rows.map(|row| row.iter().map(python).collect()).collect()
        };
        let written = groups.into_iter().map(|(name, formulas, columns)| {
            (name, formulas.as_ref().map(|list| rows(list, columns)))
        });
        written.collect()
    }

    /// Quantities of the force elements in closed form: names and their definitions, in order; none without elements, or where they are
    /// too long.
    pub fn python_quantities(&self) -> Option<Vec<(String, String)>> {
        let elements = self.equations.as_ref()?.elements.as_ref()?;
        let all = elements.quantities.as_ref()?.iter().flatten();
        let written = all.map(|q| (names::python(&q.name), q.value.sympy(names::python)));
        Some(written.collect())
    }

    /// ξ, J and γ of a closed chain as Python expressions, by rows.
    #[allow(clippy::type_complexity)]
    pub fn python_constraints(&self) -> Option<Vec<(&'static str, Option<Vec<Vec<String>>>)>> {
        let rows = self.constraints.as_ref()?;
        let groups = [
            ("xi", 1, &rows.residual),
            ("J_xi", self.model.nv(), &rows.jacobian),
            ("gamma", 1, &rows.bias),
        ];
        let written = groups.into_iter().map(|(name, columns, formulas)| {
            let rows = formulas.as_ref().map(|list| {
                let rows = list.chunks(columns);
                rows.map(|row| row.iter().map(python).collect()).collect()
            });
            (name, rows)
        });
        Some(written.collect())
    }

    /// G by rows, a row for each freedom of the tree, and c; none without couplings.
    pub fn coupling_matrix(&self) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
        let couplings = self.couplings.as_ref()?;
        let n = self.model.nv();
        let (mut rows, mut offset) = (vec![vec![0.0; couplings.nv()]; n], vec![0.0; n]);
        for (column, &row) in couplings.freedoms().iter().enumerate() {
            rows[row][column] = 1.0;
        }
        for follower in couplings.followers() {
            let row = follower.coordinate.v;
            offset[row] = follower.offset;
            for (at, ratio) in &follower.terms {
                rows[row][at.v] = *ratio;
            }
        }
        Some((rows, offset))
    }

    /// The symbols of the model's numbers as Python names, with their values.
    pub fn python_values(&self) -> Vec<(String, f64)> {
        let values = self.values().iter();
        values.map(|(name, x)| (names::python(name), *x)).collect()
    }

    /// The matrices of the closed form as Python expressions, row by row; None for one that is too long.
    pub fn python_matrices(&self) -> Vec<(String, Option<Vec<Vec<String>>>)> {
        let Some(equations) = &self.equations else {
            return Vec::new();
        };
        let groups = self.groups(equations).into_iter();
        groups
            .map(|(name, _, columns, formulas)| {
                let rows = formulas.map(|list| {
                    let rows = list.chunks(columns);
                    rows.map(|row| row.iter().map(python).collect()).collect()
                });
                (name, rows)
            })
            .collect()
    }

    /// The steps of the recursions: names and their definitions, in order.
    pub fn python_steps(&self) -> Option<Vec<(String, String)>> {
        let recursion = self.recursion.as_ref()?;
        let all = recursion.sections.iter().flat_map(|s| &s.definitions);
        Some(
            all.map(|d| (names::python(&d.name), d.value.sympy(names::python)))
                .collect(),
        )
    }

    fn matrices(&self, e: &Equations, text: &mut String) {
        for (name, meaning, columns, formulas) in self.groups(e) {
            let _ = write!(text, "\n# {meaning}\n");
            let Some(formulas) = formulas else {
                let _ = writeln!(text, "# {name} has too many terms to read");
                continue;
            };
            let _ = writeln!(text, "{name} = Matrix([");
            for row in formulas.chunks(columns) {
                let cells: Vec<String> = row.iter().map(python).collect();
                let _ = writeln!(text, "    [{}],", cells.join(", "));
            }
            text.push_str("])\n");
        }
    }

    /// Name, meaning, columns and formulas of every matrix of the closed form.
    fn groups<'a>(&self, e: &'a Equations) -> Vec<(String, String, usize, Option<&'a [Formula]>)> {
        let n = e.nv;
        let group = |name: &str, meaning: &str, columns, formulas: &'a Option<Vec<Formula>>| {
            (
                name.to_string(),
                meaning.to_string(),
                columns,
                formulas.as_deref(),
            )
        };
        let passive = has_passive_forces(&self.model);
        let efforts = match (passive, e.elements.is_some()) {
            (true, false) => "efforts: I vdot + C v + g_q + passive",
            (false, false) => "efforts: I vdot + C v + g_q",
            (true, true) => "efforts: I vdot + C v + g_q + passive - loads",
            (false, true) => "efforts: I vdot + C v + g_q - loads",
        };
        let mut groups = vec![
            group("I", "inertia matrix", n, &e.inertia),
            group("C", "Coriolis and centrifugal terms: C v", n, &e.coriolis),
            group("g_q", "gravity", 1, &e.gravity),
            group("tau", efforts, 1, &e.effort),
            group("d", "diagonal of D", 1, &e.pivots),
            group("U", "unit upper triangular: I = U D U^T", n, &e.u),
            group("psi", "row k: psi of freedom k", 6, &e.psi),
        ];
        if passive {
            groups.insert(3, group("passive", "springs and dampers", 1, &e.passive));
        }
        if let Some(elements) = &e.elements {
            let at = groups.iter().position(|(name, ..)| name == "tau");
            let loads = group("loads", "force elements", 1, &elements.efforts);
            groups.insert(at.unwrap_or(3), loads);
        }
        if let Some([rigid, articulated]) = &e.base {
            groups.push(group("I_e", "base block, joints locked", 6, rigid));
            groups.push(group("Ihat_e", "base block, joints free", 6, articulated));
        }
        if let Some(it) = &e.complement {
            let size = (it.nl.len() as f64).sqrt() as usize;
            let nl = "twists of the mass centres t = N_l N_d v: lower block triangular";
            groups.push(("N_l".into(), nl.into(), size, Some(&it.nl)));
            let nd = "block diagonal, the columns p of the joints";
            groups.push(("N_d".into(), nd.into(), n, Some(&it.nd)));
        }
        if self.elimination {
            for step in e.elimination.iter().flatten() {
                let k = step.k + 1;
                groups.push((
                    format!("alpha_{k}"),
                    format!("step k = {k}: multipliers"),
                    1,
                    Some(&step.alpha),
                ));
                groups.push((
                    format!("L_{k}"),
                    format!("the matrix after step k = {k}"),
                    n,
                    Some(&step.reduced),
                ));
            }
        }
        groups
    }
}

/// A formula in Python.
pub(super) fn python(formula: &Formula) -> String {
    formula.sympy(names::python)
}

fn declare(text: &mut String, name: &str) {
    let name = names::python(name);
    let _ = writeln!(text, "{name} = symbols(\"{name}\", real=True)");
}

fn steps(recursion: &Recursion, inputs: &[String], text: &mut String) {
    text.push('\n');
    let all = || recursion.sections.iter().flat_map(|s| &s.definitions);
    for definition in all().filter(|d| !inputs.contains(&d.name)) {
        declare(text, &definition.name);
    }
    text.push_str("\nsteps = [\n");
    for definition in all() {
        let _ = writeln!(
            text,
            "    ({}, {}),",
            names::python(&definition.name),
            definition.value.sympy(names::python)
        );
    }
    text.push_str(
        "]\n\n\ndef evaluate(numbers):\n    \"\"\"The numbers of all symbols, given those of the inputs.\"\"\"\n    known = {**values, **numbers}\n    for symbol, expression in steps:\n        \
         known[symbol] = expression.subs({s: known[s] for s in expression.free_symbols}) if hasattr(expression, \"free_symbols\") else expression\n    return known\n",
    );
}
