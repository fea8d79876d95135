//! The recursions of Saha's papers in their own variables: twists t and wrenches w of the mass centres, B, p and M.
//!
//! ```text
//! base to tips   ν_i = B_ij ν_j + p_i θ̇_i                                        ν_0 = 0
//!                ξ_i = B_ij ξ_j + Ḃ_ij ν_j + p_i θ̈_i + Ω_i p_i θ̇_i               ξ_0 = ρ = (0; −g)
//! tips to base   γ_i = M_i ξ_i + Ṁ_i ν_i + Σ B_ciᵀ γ_c,   τ_i = p_iᵀ γ_i
//! tips to base   M̃_i = M_i + Σ B_ciᵀ M̃_c B_ci,            i_ij = p_iᵀ M̃_i B_ij p_j
//! tips to base   M̂_i = M_i + Σ B_ciᵀ (M̂_c − ψ̂_c ψ_cᵀ) B_ci
//!                ψ̂_i = M̂_i p_i,   m̂_i = p_iᵀ ψ̂_i,   ψ_i = ψ̂_i / m̂_i,   α_ji = p_jᵀ B_ijᵀ ψ_i
//! tips to base   τ̂_i = φ_i − p_iᵀ η̄_i,   η_i = η̄_i + ψ_i τ̂_i,   η̄_i = Σ B_ciᵀ η_c,   τ̃_i = τ̂_i / m̂_i
//! base to tips   θ̈_i = τ̃_i − ψ_iᵀ μ̄_i,   μ_i = μ̄_i + p_i θ̈_i,   μ̄_i = B_ij μ_j
//! ```
//!
//! with j the parent of i and c its children. Misprints of the papers are corrected. Vectors for which they give no axes
//! are written here in the axes of body i, so that p and M are constant; B then includes a rotation. B t is computed by way of the
//! joint: from mass centre j by r to joint i, rotated, and from there by d to mass centre i. A joint of several freedoms has them
//! one after another.

use super::Part;
use super::recursion::{Notebook, Rigid};
use crate::Expr;
use catena::Scalar;
use catena::model::JointKind;
use catena::spatial::{ArticulatedInertia, Force, Motion, Vec3};

/// Vectors that lead to the mass centre of a body.
struct Lead {
    /// From joint i to mass centre i, in the axes of body i.
    d: Vec3<Expr>,
    /// From the mass centre of the parent to joint i, in the parent's axes; zero on the ground.
    r: Vec3<Expr>,
}

/// B, p and M.
struct Parts {
    leads: Vec<Lead>,
    /// p of every freedom, by the names of its components.
    p: Vec<Motion<Expr>>,
    /// p, written out.
    p_full: Vec<Motion<Expr>>,
    /// M of every body.
    mass: Vec<Rigid>,
}

const TWIST: [&str; 6] = ["wx", "wy", "wz", "vx", "vy", "vz"];

impl Notebook<'_> {
    /// All steps of the papers.
    pub(super) fn papers(&mut self) {
        let parts = self.bodies_and_joints();
        self.paper_inverse(&parts);
        self.paper_composite(&parts);
        self.paper_articulated(&parts);
        self.paper_forward(&parts);
    }

    /// A constant of a body: it is always listed, and is substituted where it is used if it is a number or one symbol.
    fn constant(&mut self, name: &str, value: Expr) -> Expr {
        match self.write(name, value) {
            Some(formula) if formula.is_zero() => Expr::zero(),
            Some(formula) => {
                let is_plain = formula.is_plain();
                if value != Expr::symbol(name) {
                    self.push(name, formula);
                }
                if is_plain { value } else { Expr::symbol(name) }
            }
            None => value,
        }
    }

    fn constant_vector(&mut self, name: &str, value: Vec3<Expr>) -> Vec3<Expr> {
        let mut made = value.to_array();
        for (x, axis) in made.iter_mut().zip(["x", "y", "z"]) {
            *x = self.constant(&format!("{name}.{axis}"), *x);
        }
        Vec3::from_array(made)
    }

    /// Six components under one letter: angular, then that of the mass centre.
    fn twist(&mut self, name: &str, m: Motion<Expr>) -> Motion<Expr> {
        let mut parts = m.to_array();
        for (x, part) in parts.iter_mut().zip(TWIST) {
            *x = self.named(&format!("{name}.{part}"), *x);
        }
        let [a, b, c, d, e, f] = parts;
        Motion::new(Vec3::new(a, b, c), Vec3::new(d, e, f))
    }

    /// d and r, which define B, p and M.
    fn bodies_and_joints(&mut self) -> Parts {
        let tree = self.model.tree().clone();
        let none = Rigid {
            mass: Expr::zero(),
            first: Vec3::zero(),
            tensor: catena::spatial::Sym3::zero(),
        };
        let mut parts = Parts {
            leads: vec![Lead {
                d: Vec3::zero(),
                r: Vec3::zero(),
            }],
            p: Vec::new(),
            p_full: Vec::new(),
            mass: vec![none],
        };
        for i in 1..=self.model.body_count() {
            self.open(Part::Constants, i);
            let own = self.central[i];
            let mass = self.constant(&format!("m[{i}]"), own.mass);
            let mut tensor = own.tensor;
            for (x, pair) in [
                (&mut tensor.xx, "xx"),
                (&mut tensor.yy, "yy"),
                (&mut tensor.zz, "zz"),
                (&mut tensor.xy, "xy"),
                (&mut tensor.xz, "xz"),
                (&mut tensor.yz, "yz"),
            ] {
                *x = self.constant(&format!("J[{i}].{pair}"), *x);
            }
            parts.mass.push(Rigid {
                mass,
                first: Vec3::zero(),
                tensor,
            });
            let j = tree.parent(i);
            let mut arm = self.ways[i].placement.translation;
            let mut d = own.centre;
            if tree.bodies[i].kind == JointKind::Prismatic {
                // the slide leads from the joint, which the body before carries, to the body
                let slide = Vec3::new(Expr::zero(), Expr::zero(), self.position(i));
                arm -= self.outward(i, slide);
                d += slide;
            }
            let d = self.constant_vector(&format!("lead[{i}]"), d);
            let r = match j {
                0 => Vec3::zero(),
                _ => self.constant_vector(&format!("r[{j},{i}]"), arm - self.central[j].centre),
            };
            parts.leads.push(Lead { d, r });
            for (column, l) in self.columns(i).into_iter().zip(tree.dof_range(i)) {
                let about = |centre: Vec3<Expr>| {
                    let linear = column.linear + column.angular.cross(centre);
                    Motion::new(column.angular, linear)
                };
                parts.p_full.push(about(own.centre));
                let slides = tree.bodies[i].kind == JointKind::Prismatic;
                let p = about(if slides { Vec3::zero() } else { d });
                let mut components = p.to_array();
                for (x, part) in components.iter_mut().zip(TWIST) {
                    *x = self.constant(&format!("p[{l}].{part}"), *x);
                }
                let [a, b, c, d, e, f] = components;
                let p = Motion::new(Vec3::new(a, b, c), Vec3::new(d, e, f));
                parts.p.push(p);
            }
        }
        parts
    }

    /// The first position coordinate of a body's joint.
    fn position(&self, body: usize) -> Expr {
        Expr::symbols("q", self.model.nq())[self.model.tree().bodies[body].q]
    }

    /// B_ij t.
    fn propagated(&self, i: usize, lead: &Lead, t: Motion<Expr>) -> Motion<Expr> {
        let angular = self.inward(i, t.angular);
        let at_joint = self.inward(i, t.linear + t.angular.cross(lead.r));
        Motion::new(angular, at_joint + angular.cross(lead.d))
    }

    /// B_ijᵀ w.
    fn returned(&self, i: usize, lead: &Lead, w: Force<Expr>) -> Force<Expr> {
        let moment = self.outward(i, w.moment + lead.d.cross(w.force));
        let force = self.outward(i, w.force);
        Force::new(moment + lead.r.cross(force), force)
    }

    /// ν and ξ, then γ and τ.
    fn paper_inverse(&mut self, parts: &Parts) {
        let n = self.model.body_count();
        let tree = self.model.tree().clone();
        let rho = Motion::new(Vec3::zero(), -self.symbolic.gravity());
        let mut motion = vec![(Motion::zero(), rho)];
        for i in 1..=n {
            self.open(Part::Motion, i);
            let (j, lead) = (tree.parent(i), &parts.leads[i]);
            let (nu_j, xi_j) = motion[j];
            let seeds = self.position_rates(i);
            // p θ̇, p θ̈, and the change of p relative to the body, which is zero for the papers' joints
            let (mut own, mut rate) = (Motion::zero(), Motion::zero());
            for l in tree.dof_range(i) {
                own = own + parts.p[l] * self.v[l];
                rate = rate + parts.p[l] * self.vdot[l];
                rate = rate + Self::change(parts.p_full[l], &seeds) * self.v[l];
            }
            let nu = self.propagated(i, lead, nu_j) + own;
            let nu = self.twist(&format!("nu[{i}]"), nu);
            let turning = Motion::new(nu.angular.cross(own.angular), nu.angular.cross(own.linear));
            let mut xi = self.propagated(i, lead, xi_j) + rate + turning;
            if j != 0 {
                // Ḃ ν: ċ_ij = v_j − v_i, by way of the joint, and ω_j in the axes of body i
                let before = nu.angular - own.angular;
                let swept = self.inward(i, nu_j.angular.cross(lead.r));
                let arm_rate = -(swept + before.cross(lead.d) + own.linear);
                let arm_rate = self.vector(&format!("cdot[{i},{j}]"), arm_rate);
                xi.linear += arm_rate.cross(before);
            }
            let xi = self.twist(&format!("xi[{i}]"), xi);
            motion.push((nu, xi));
        }
        // wrenches of force elements about the mass centres
        let mut gamma = self.elements(|notebook, i, _| {
            let nu = motion[i].0;
            let back = nu.angular.cross(notebook.central[i].centre);
            Motion::new(nu.angular, nu.linear - back)
        });
        for (i, gamma) in gamma.iter_mut().enumerate() {
            let moment = gamma.moment - self.central[i].centre.cross(gamma.force);
            *gamma = Force::new(moment, gamma.force);
        }
        for i in (1..=n).rev() {
            self.open(Part::Load, i);
            let (nu, xi) = motion[i];
            let Rigid { mass, tensor, .. } = parts.mass[i];
            let moment = tensor * xi.angular + nu.angular.cross(tensor * nu.angular);
            let total = Force::new(moment, xi.linear * mass) + gamma[i];
            let total = self.screw(&format!("gamma[{i}]"), total);
            for l in tree.dof_range(i) {
                let more = self.at_joint(l);
                self.result(&format!("tau[{l}]"), total.dot(parts.p[l]) + more);
            }
            let j = tree.parent(i);
            if j != 0 {
                gamma[j] += self.returned(i, &parts.leads[i], total);
            }
        }
    }

    /// M̃ and the entries of I.
    fn paper_composite(&mut self, parts: &Parts) {
        let n = self.model.body_count();
        let tree = self.model.tree().clone();
        let mut composite = parts.mass.clone();
        for i in (1..=n).rev() {
            self.open(Part::Composite, i);
            let mut own = composite[i];
            if (1..=n).any(|c| tree.parent(c) == i) {
                own = Rigid {
                    mass: self.named(&format!("mt[{i}]"), own.mass),
                    first: self.vector(&format!("ht[{i}]"), own.first),
                    tensor: self.symmetric(&format!("At[{i}]"), own.tensor),
                };
            }
            for l in tree.dof_range(i) {
                let mut wrench = own.times(parts.p[l]);
                let mut j = i;
                loop {
                    wrench = self.wrench(["N", "F"], &format!("{l},{j}"), wrench);
                    for m in tree.dof_range(j).filter(|m| *m <= l) {
                        let mut entry = wrench.dot(parts.p[m]);
                        if m == l {
                            entry += self.rotors[l];
                        }
                        self.result(&format!("I[{m},{l}]"), entry);
                    }
                    if tree.parent(j) == 0 {
                        break;
                    }
                    wrench = self.returned(j, &parts.leads[j], wrench);
                    j = tree.parent(j);
                }
            }
            let j = tree.parent(i);
            if j != 0 {
                let Lead { d, r } = parts.leads[i];
                let about = own.shifted(d);
                let about = Rigid {
                    mass: about.mass,
                    first: self.vector(&format!("htj[{i}]"), about.first),
                    tensor: self.symmetric(&format!("Atj[{i}]"), about.tensor),
                };
                let out = self.rigid_out(i, about, r);
                let to = &mut composite[j];
                to.mass += out.mass;
                to.first += out.first;
                to.tensor = to.tensor + out.tensor;
            }
        }
    }

    /// M̂, ψ̂, m̂, ψ, and the entries of U.
    fn paper_articulated(&mut self, parts: &Parts) {
        let n = self.model.body_count();
        let tree = self.model.tree().clone();
        let mut inertia: Vec<ArticulatedInertia<Expr>> =
            parts.mass.iter().map(|mass| mass.articulated()).collect();
        for i in (1..=n).rev() {
            self.open(Part::Articulated, i);
            let mut own = self.operator(["Ah", "Bh", "Ch"], &i.to_string(), inertia[i]);
            let range = tree.dof_range(i);
            let several = range.len() > 1;
            let j = tree.parent(i);
            if tree.is_free_floating() && i == 1 {
                for l in range.clone() {
                    let wrench = own.times(parts.p[l]);
                    for m in range.clone().filter(|m| *m <= l) {
                        let mut entry = wrench.dot(parts.p[m]);
                        if m == l {
                            entry += self.rotors[l];
                        }
                        self.result(&format!("Ihat[{m},{l}]"), entry);
                    }
                }
            }
            for l in range.clone().rev() {
                let p = parts.p[l];
                let hat = own.times(p);
                let hat = self.screw(&format!("psihat[{l}]"), hat);
                let pivot = hat.dot(p) + self.rotors[l];
                let pivot = self.result(&format!("d[{l}]"), pivot);
                let mut psi = self.screw(&format!("psi[{l}]"), hat * pivot.recip());
                self.psi[l] = psi;
                if j != 0 || l > range.start {
                    let index = match several {
                        true => format!("{i},{}", l + 1),
                        false => i.to_string(),
                    };
                    own = self.operator(["Ar", "Br", "Cr"], &index, own.minus_outer(hat, psi));
                }
                let mut at = i;
                loop {
                    for m in tree.dof_range(at).filter(|m| *m < l) {
                        self.result(&format!("alpha[{m},{l}]"), psi.dot(parts.p[m]));
                    }
                    if tree.parent(at) == 0 {
                        break;
                    }
                    psi = self.returned(at, &parts.leads[at], psi);
                    at = tree.parent(at);
                    psi = self.screw(&format!("psi[{l},{at}]"), psi);
                }
            }
            if j != 0 {
                let Lead { d, r } = parts.leads[i];
                let about = self.operator(["Aj", "Bj", "Cj"], &i.to_string(), own.shifted(d));
                inertia[j] = inertia[j] + self.operator_out(i, about, r);
            }
        }
    }

    /// φ, τ̂ and η, then τ̃, θ̈ and μ.
    fn paper_forward(&mut self, parts: &Parts) {
        let n = self.model.body_count();
        let (nv, tree) = (self.model.nv(), self.model.tree().clone());
        let symbols = |name: &str| Expr::symbols(name, nv);
        let (tau, bias, d) = (symbols("tau"), symbols("bias"), symbols("d"));
        let psi = self.psi.clone();
        let mut eta = vec![Force::<Expr>::zero(); n + 1];
        let mut tilde = symbols("tautilde");
        for i in (1..=n).rev() {
            self.open(Part::Reduction, i);
            let mut own = self.screw(&format!("etab[{i}]"), eta[i]);
            for l in tree.dof_range(i).rev() {
                let phi = self.result(&format!("phi[{l}]"), tau[l] - bias[l]);
                let hat = phi - own.dot(parts.p[l]);
                let hat = self.result(&format!("tauhat[{l}]"), hat);
                tilde[l] = self.result(&format!("tautilde[{l}]"), hat / d[l]);
                own += psi[l] * hat;
            }
            let j = tree.parent(i);
            if j != 0 {
                let own = self.screw(&format!("eta[{i}]"), own);
                eta[j] += self.returned(i, &parts.leads[i], own);
            }
        }
        let mut mu = vec![Motion::<Expr>::zero(); n + 1];
        for i in 1..=n {
            self.open(Part::Substitution, i);
            let before = self.propagated(i, &parts.leads[i], mu[tree.parent(i)]);
            let mut own = self.twist(&format!("mub[{i}]"), before);
            for l in tree.dof_range(i) {
                let value = tilde[l] - psi[l].dot(own);
                self.result(&format!("vdot[{l}]"), value);
                own = own + parts.p[l] * self.vdot[l];
            }
            if (i + 1..=n).any(|c| tree.parent(c) == i) {
                mu[i] = self.twist(&format!("mu[{i}]"), own);
            }
        }
    }
}

/// A step of the papers: its meaning, its equations, and the same quantity in this library.
pub(super) struct PaperStep {
    pub step: &'static str,
    pub equations: &'static str,
    pub here: &'static str,
    /// Whether it is for trees on a free base only.
    pub of_free_base: bool,
}

const fn step(step: &'static str, equations: &'static str, here: &'static str) -> PaperStep {
    PaperStep {
        step,
        equations,
        here,
        of_free_base: false,
    }
}

/// Introduction of the page.
pub(super) const NOTATION: [&str; 2] = [
    "The variables are those of S. K. Saha's papers: 1999 is \"Dynamics of serial multibody systems using the decoupled natural orthogonal complement \
     matrices\", 1995 \"The $U D U^T$ decomposition of manipulator inertia matrix\", space \"Symbolic factorization of inertia matrix for space robot \
     simulation\". Numbers after these are those of their equations; misprints are corrected. Hats are those of 1999: $\\psi$ and $\\hat{\\psi}$ change places \
     in the other two. The last column of a table is what the page of the same model without the papers' notation calls the same thing.",
    "$j$ is the parent of body $i$, the papers' $i - 1$, and $c$ are its children, the papers' $i + 1$: a tree may have several. $k$ is a freedom of the joint of body $i$; a joint of \
     several freedoms has them one after the other. $C_i$ is the mass centre of body $i$; a body without mass has its origin instead. The papers leave the axes open; here everything of body $i$ \
     is in the axes of body $i$, and what goes to another body is rotated into its axes.",
];

/// Title, explanation and steps of a part.
pub(super) fn law(part: Part) -> (&'static str, &'static str, &'static [PaperStep]) {
    match part {
        Part::Constants => (
            "Bodies and joints: $B_{ij}$, $p_k$, $M_i$",
            "$d_i$ leads from joint $i$ to $C_i$, and has the slide of a prismatic joint in it; $r_{ji}$ leads from $C_j$ to joint $i$, in the axes of body $j$. Components: $\\omega$ for the \
             angular part of a twist, $v$ for the velocity of $C_i$; $n$ for the moment about $C_i$ and $f$ for the force of a wrench.",
            const {
                &[
                    step(
                        "$t_i = (\\omega_i; v_i)$, $w_i = (n_i; f_i)$",
                        "1999: 1; 1995: 1; space: 1",
                        "twists and wrenches about the joint's origin instead of $C_i$",
                    ),
                    step(
                        "$B_{ij} = (1, 0; c_{ij} \\times, 1)$, $c_{ij} = -d_i - r_{ji}$",
                        "1999: 13, 14; 1995: 4, 6; space: 10",
                        "rotation $R$ and joint $a_i$ in the parent",
                    ),
                    step(
                        "$p_k = (e; e \\times d_i)$, prismatic $(0; e)$",
                        "1999: 13, 15; 1995: 4; space: 10",
                        "the column of the joint about its origin: $(e; 0)$, prismatic $(0; e)$",
                    ),
                    step(
                        "$M_i = (J_i, 0; 0, m_i 1)$",
                        "1999: 2; 1995: 12; space: 2",
                        "$m_i$, $h_i = m_i c_i$ and $A_i$ about the joint; the papers write $I_i$ for $J_i$",
                    ),
                ]
            },
        ),
        Part::Motion => (
            "Inverse dynamics, forward recursion: $\\nu_i$, $\\xi_i$",
            "$\\nu_i$ is the twist $t_i$, $\\xi_i$ its rate with gravity as an acceleration of the base. $\\Omega_i p_k$ is $\\omega_i$ times both halves of $p_k$. $\\dot{B}_{ij}$ has \
             $\\dot{c}_{ij} \\times$ below on the left and zeros elsewhere. Joints whose $p_k$ change seen from their body, which the papers do not have, add that change.",
            const {
                &[
                    step(
                        "$\\nu_i = B_{ij} \\nu_j + p_k \\dot{\\theta}_k$, $\\nu_0 = 0$",
                        "1999: 12, 5.1 (printed there without $B$); 1995: 3; space: 9",
                        "the upper half is $\\omega_i$; the lower one is not needed",
                    ),
                    step(
                        "$\\dot{c}_{ij} = v_j - v_i$",
                        "1999: 28, in $\\dot{B}$",
                        "not needed",
                    ),
                    step(
                        "$\\xi_i = B_{ij} \\xi_j + \\dot{B}_{ij} \\nu_j + p_k \\ddot{\\theta}_k + \\Omega_i p_k \\dot{\\theta}_k$",
                        "1999: 5.1",
                        "$\\dot{\\omega}_i$, and $\\ddot{r}_i$ of the joint's origin: $\\xi_i = (\\dot{\\omega}_i; \\ddot{r}_i + \\dot{\\omega}_i \\times c_i + \\omega_i \\times (\\omega_i \\times c_i))$",
                    ),
                    step(
                        "$\\xi_0 = \\rho = (0; -g)$",
                        "1999: 32",
                        "the ground accelerates by $-g$",
                    ),
                ]
            },
        ),
        Part::Elements => (
            "Force elements",
            "The papers have none. Axes $R_i$ and origins $o_i$ of the bodies that elements act on, in the world; the wrench $w_i$ of all elements on body $i$, moment then force, in its axes about its joint, is carried to \
             $C_i$ and subtracted from $\\gamma_i$.",
            const {
                &[step(
                    "$\\gamma_i$ without $(n - c_i \\times f; f)$ of $w_i = (n; f)$",
                    "–",
                    "$w_i$, subtracted from $(n_i; f_i)$",
                )]
            },
        ),
        Part::Load => (
            "Inverse dynamics, backward recursion: $\\gamma_i$, $\\tau_k$",
            "$\\dot{M}_i \\nu_i$ is $(\\omega_i \\times J_i \\omega_i; 0)$. Rotor inertias, springs and dampers, which the papers do not have, are added to $\\tau_k$.",
            const {
                &[
                    step(
                        "$\\gamma_i = M_i \\xi_i + \\dot{M}_i \\nu_i + \\sum B_{ci}^T \\gamma_c$",
                        "1999: 7, 8, 5.1",
                        "$(n_i; f_i)$ about the joint: $\\gamma_i = (n_i - c_i \\times f_i; f_i)$",
                    ),
                    step(
                        "$\\tau_k = p_k^T \\gamma_i$",
                        "1999: 30, 5.1",
                        "$\\tau_k$, the same number",
                    ),
                ]
            },
        ),
        Part::Composite => (
            "Inertia matrix: composite bodies $\\tilde{M}_i$",
            "$\\tilde{M}_i$ has the mass $\\tilde{m}_i$, the first moment $\\tilde{h}_i$ and the tensor $\\tilde{A}_i$ of body $i$ and all outboard bodies, about $C_i$. $B^T \\tilde{M} B$ goes by way of the joint: $\\tilde{h}'_i$ and $\\tilde{A}'_i$ are about the \
             joint, $\\bar{h}_i$ and $\\bar{A}_i$ the same in the axes of the parent. $(N_{ki}; F_{ki})$ is $\\tilde{M} p_k$ carried to $C_i$ by $B^T$. Rotor inertias are added to the diagonal.",
            const {
                &[
                    step(
                        "$\\tilde{M}_i = M_i + \\sum B_{ci}^T \\tilde{M}_c B_{ci}$",
                        "1999: 23b; 1995: 15a, 15c; space: 8",
                        "the same composite body about the joint: $\\tilde{m}_i$, $\\tilde{h}_i$, $\\tilde{A}_i$",
                    ),
                    step(
                        "$i_{lk} = p_k^T \\tilde{M}_i B_{ij} p_l$",
                        "1999: 24; 1995: 16; space: 6, 7",
                        "$I_{lk}$, the same number",
                    ),
                ]
            },
        ),
        Part::Articulated => (
            "Factors: articulated bodies $\\hat{M}_i$, $\\psi_k$, $\\hat{m}_k$",
            "$\\hat{M}_i$ has the blocks $\\hat{A}$ (moment by angular acceleration), $\\hat{B}$ (moment by linear), $\\hat{C}$ (force by linear) about $C_i$; $\\hat{A}'$, $\\hat{B}'$, $\\hat{C}'$ are those of $\\hat{M} - \\hat{\\psi} \\psi^T$, $A'$, $B'$, $C'$ the \
             same about the joint, $\\bar{A}$, $\\bar{B}$, $\\bar{C}$ in the axes of the parent. Rotor inertias are added to $\\hat{m}_k$. Of a free base the six freedoms are eliminated one by one, where the paper \
             solves with $\\hat{I}_e$ at once (space: 19).",
            const {
                &[
                    step(
                        "$\\hat{M}_i = M_i + \\sum B_{ci}^T \\hat{M}_{cc} B_{ci}$",
                        "1999: 50; 1995: 35; space: 26",
                        "the same articulated body about the joint",
                    ),
                    step(
                        "$\\hat{\\psi}_k = \\hat{M}_i p_k$",
                        "1999: 47; as $\\psi_k$ 1995: 32; space: 24",
                        "$\\hat{\\psi}_k$ about the joint: $c_i \\times$ force is added to the moment",
                    ),
                    step(
                        "$\\hat{m}_k = p_k^T \\hat{\\psi}_k$",
                        "1999: 47; 1995: 32; space: 24",
                        "$\\hat{m}_k$, the same number",
                    ),
                    step(
                        "$\\psi_k = \\hat{\\psi}_k / \\hat{m}_k$",
                        "1999: 48; as $\\hat{\\psi}_k$ 1995: 33; space: 25",
                        "$\\psi_k$ about the joint",
                    ),
                    step(
                        "$\\hat{M}_{ii} = \\hat{M}_i - \\hat{\\psi}_k \\psi_k^T$",
                        "1999: 50; 1995: 35; space: 26",
                        "$\\hat{M}'_i$ about the joint",
                    ),
                    step(
                        "$\\psi_{kl} = B_{il}^T \\psi_k$, $\\alpha_{lk} = p_l^T \\psi_{kl}$",
                        "1999: 46–48; 1995: 31–33; space: 23, 25",
                        "$\\alpha_{lk}$, the same number",
                    ),
                    PaperStep {
                        step: "$\\hat{I}_e = P_1^T \\hat{M}_1 P_1$, $P_1$ of the columns $p_k$ of the base",
                        equations: "space: 12, 28",
                        here: "$\\hat{I}$, the same numbers",
                        of_free_base: true,
                    },
                ]
            },
        ),
        Part::Reduction => (
            "Forward dynamics, $U \\hat{\\tau} = \\phi$ and $D \\tilde{\\tau} = \\hat{\\tau}$",
            "$\\beta_k$ are the efforts of the inverse dynamics above at zero accelerations (1999, 5.2: $C \\dot{\\theta}$, with gravity in it). $\\bar{\\eta}_i$ is the papers' $\\eta_{i,i+1}$.",
            const {
                &[
                    step(
                        "$\\phi_k = \\tau_k - \\beta_k$",
                        "1999: 33",
                        "$\\tau_k - \\beta_k$",
                    ),
                    step(
                        "$\\bar{\\eta}_i = \\sum B_{ci}^T \\eta_c$",
                        "1999: 35; 1995: 37; space: 18",
                        "$\\eta_i$ about the joint",
                    ),
                    step(
                        "$\\hat{\\tau}_k = \\phi_k - p_k^T \\bar{\\eta}_i$",
                        "1999: 34; 1995: 36; space: 17",
                        "$\\hat{\\tau}_k$, the same number",
                    ),
                    step(
                        "$\\eta_i = \\bar{\\eta}_i + \\psi_k \\hat{\\tau}_k$",
                        "1999: 35; 1995: 37; space: 18",
                        "the same, without a name",
                    ),
                    step(
                        "$\\tilde{\\tau}_k = \\hat{\\tau}_k / \\hat{m}_k$",
                        "1999: before 36; 1995: before 38; space: before 20",
                        "the same, without a name",
                    ),
                ]
            },
        ),
        Part::Substitution => (
            "Forward dynamics, $U^T \\ddot{\\theta} = \\tilde{\\tau}$",
            "$\\bar{\\mu}_i$ is the papers' $\\mu_{i,i-1}$.",
            const {
                &[
                    step(
                        "$\\bar{\\mu}_i = B_{ij} \\mu_j$",
                        "1999: 37; 1995: 39; space: 21",
                        "$(\\mu; \\nu)$ of the parent, carried to joint $i$",
                    ),
                    step(
                        "$\\ddot{\\theta}_k = \\tilde{\\tau}_k - \\psi_k^T \\bar{\\mu}_i$",
                        "1999: 36; 1995: 38; space: 20",
                        "$\\dot{v}_k$, the same number",
                    ),
                    step(
                        "$\\mu_i = \\bar{\\mu}_i + p_k \\ddot{\\theta}_k$",
                        "1999: 37; 1995: 39; space: 21",
                        "$(\\mu_i; \\nu_i)$ about the joint",
                    ),
                ]
            },
        ),
    }
}
