//! Strips of a motion: several instants of a mechanism, side by side or on top of each other.
//!
//! A body is drawn from its joint to the joints it carries. A body that carries none is drawn to its farthest named frame or
//! to the tip of the uniform rod with the same mass, mass centre and transverse moment of inertia, whichever is farther; for a
//! uniform rod this is its true end. Sliding joints show their slide as a double line. Joints that close loops are filled diamonds, and
//! bodies are drawn to them too; distance constraints are thin lines, springs between bodies dashed ones. The root of a floating tree is
//! also drawn as the uniform box that has its mass, mass centre and inertia; the default view follows it where it drifts away.
//!
//! The camera is a pinhole camera, far enough away to see every instant.

use crate::svg::{Anchor, Canvas, fit, text_width};
use catena::model::{ForceLaw, Inertial, JointKind, Rule};
use catena::spatial::{Mat3, Pose, Vec3};
use catena::{Dynamics, Error, ErrorKind, Model, Result, State};

type Point = Vec3<f64>;

/// How the instants are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each instant in a separate field, row by row, all at the same scale.
    SideBySide,
    /// All instants in one field, earlier ones paler.
    Superposed,
}

/// How the bodies are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// As lines.
    Sticks,
    /// As slender solids: an edge shows the rotation of the body about its own length.
    Bones,
}

/// Camera, style and size of a strip.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Title above the picture.
    pub title: String,
    /// Viewing direction, from the eye to the mechanism, in world components.
    pub direction: [f64; 3],
    /// The direction that points upward in the picture, as far as the viewing direction permits.
    pub up: [f64; 3],
    /// Distance of the eye in radii of the scene, at least 1.5; infinite for a parallel projection.
    pub distance: f64,
    /// Arrangement of the instants.
    pub layout: Layout,
    /// Drawing of the bodies.
    pub bodies: Bodies,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Pixels per metre in the middle of the scene; as large as fits if not given.
    pub scale: Option<f64>,
    /// Moves every instant so that the base, or the root of a floating tree, stays where it is in the first one.
    pub follow: bool,
}

impl View {
    /// Along a direction, with this direction up: in perspective, side by side, bodies as solids, 900 × 420 pixels.
    pub fn along(direction: [f64; 3], up: [f64; 3]) -> Self {
        View {
            title: String::new(),
            direction,
            up,
            distance: 4.0,
            layout: Layout::SideBySide,
            bodies: Bodies::Bones,
            width: 900,
            height: 420,
            scale: None,
            follow: false,
        }
    }

    /// The default view of a motion follows a floating tree that moves farther than its own size; the direction against gravity is up; a planar
    /// motion is seen along the plane's normal, without perspective and as sticks; any other from the front, a little from the side and above, in
    /// perspective.
    pub fn of(model: &Model, states: &[State]) -> Result<Self> {
        let gravity = model.gravity();
        let up = if gravity.norm() > 0.0 {
            gravity * (-1.0 / gravity.norm())
        } else {
            Vec3::new(0.0, 0.0, 1.0)
        };
        let follow = drifts(model, states)?;
        let scene = Scene::new(model, states, follow)?;
        if let Some(normal) = scene.normal() {
            let up = if normal.cross(up).norm() > 0.1 {
                up
            } else {
                [Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)]
                    .into_iter()
                    .find(|axis| normal.cross(*axis).norm() > 0.1)
                    .unwrap_or(up)
            };
            // of the two sides, the one from which the picture's horizontal axis is along a positive world axis
            let right = normal.cross(up).to_array();
            let largest = right
                .into_iter()
                .fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
            let direction = if largest < 0.0 { -normal } else { normal };
            return Ok(View {
                distance: f64::INFINITY,
                bodies: Bodies::Sticks,
                follow,
                ..View::along(direction.to_array(), up.to_array())
            });
        }
        let side = perpendicular(up);
        let depth = up.cross(side);
        let eye = side * 0.45 - depth * 0.84 + up * 0.31;
        Ok(View {
            follow,
            ..View::along((-eye).to_array(), up.to_array())
        })
    }
}

/// Does a floating tree move farther than its own size?
fn drifts(model: &Model, states: &[State]) -> Result<bool> {
    if !model.tree().is_free_floating() || states.is_empty() {
        return Ok(false);
    }
    let size = Scene::new(model, &states[..1], false)?.radius;
    let scene = Scene::new(model, states, false)?;
    // the joint of the root is the first
    let mut roots = scene
        .instants
        .iter()
        .filter_map(|instant| instant.joints.first());
    let Some((first, _)) = roots.next().copied() else {
        return Ok(false);
    };
    Ok(roots.any(|(at, _)| (*at - first).norm() > size))
}

/// Draws instants of a motion as SVG. `labels` names them (`t = 0.5 s`) or is empty.
///
/// ```
/// use catena::{State, model::embedded};
/// use catena_plot::{View, strip};
///
/// let model = embedded::model("planar3")?;
/// let states = [0.0, 0.4, 0.8].map(|q| State::new(&model, &[q, q, q], &[0.0; 3]).unwrap());
/// let view = View::of(&model, &states)?;
/// assert_eq!(view.direction, [0.0, 0.0, -1.0]);
/// let svg = strip(&model, &states, &[], &view)?;
/// assert!(svg.starts_with("<svg"));
/// # Ok::<(), catena::Error>(())
/// ```
pub fn strip(model: &Model, states: &[State], labels: &[String], view: &View) -> Result<String> {
    if !(labels.is_empty() || labels.len() == states.len()) {
        return Err(Error::new(
            ErrorKind::Input,
            format!(
                "a strip of {} instants needs as many labels or none, {} were given",
                states.len(),
                labels.len()
            ),
        ));
    }
    let is_sound = |scale: f64| scale.is_finite() && scale > 0.0;
    if let Some(scale) = view.scale.filter(|scale| !is_sound(*scale)) {
        return Err(Error::new(
            ErrorKind::Input,
            format!("a scale of {scale} pixels per metre cannot be drawn"),
        ));
    }
    let scene = Scene::new(model, states, view.follow)?;
    let camera = Camera::new(view, &scene)?;
    Ok(draw(&scene, labels, view, &camera))
}

// ---------------------------------------------------------------------------------------------------------------- geometry

/// A unit vector across another.
fn perpendicular(v: Point) -> Point {
    let [x, y, z] = v.to_array().map(f64::abs);
    let axis = if x <= y.min(z) * 1.000_001 {
        Vec3::new(1.0, 0.0, 0.0)
    } else if y <= z {
        Vec3::new(0.0, 1.0, 0.0)
    } else {
        Vec3::new(0.0, 0.0, 1.0)
    };
    let across = axis - v * (axis.dot(v) / v.dot(v));
    across * (1.0 / across.norm())
}

/// A straight part of a body.
#[derive(Clone, Copy, Debug)]
struct Rod {
    body: usize,
    from: Point,
    to: Point,
    /// Is it the slide between the two parts of a joint?
    slide: bool,
    /// A direction across the rod that rotates with the body.
    across: Point,
}

/// One instant: the parts of the mechanism in the world.
#[derive(Debug, Default)]
struct Instant {
    rods: Vec<Rod>,
    /// Joint origins, and whether the joint is prismatic.
    joints: Vec<(Point, bool)>,
    /// Joints on the ground.
    anchors: Vec<Point>,
    /// Joints that close loops.
    closings: Vec<Point>,
    /// Distance constraints, and springs (dashed).
    links: Vec<([Point; 2], bool)>,
    /// Edges of the box that represents the root of a floating tree.
    edges: Vec<[Point; 2]>,
}

#[derive(Debug)]
struct Scene {
    instants: Vec<Instant>,
    centre: Point,
    radius: f64,
}

impl Scene {
    /// With `follow`, every instant is shifted so that the base, or the root of a floating tree, stays in place.
    fn new(model: &Model, states: &[State], follow: bool) -> Result<Scene> {
        let mut dynamics = Dynamics::new(model);
        let still = vec![0.0; model.nv()];
        let mut children = vec![Vec::new(); model.body_count() + 1];
        for body in model.bodies() {
            children[model.tree().bodies[body].parent].push(body);
        }
        let root = usize::from(model.tree().is_free_floating());
        let mut first: Option<Point> = None;
        let instants = states
            .iter()
            .map(|state| {
                let mut poses = dynamics.kinematics(state, &still)?.world_from_body.clone();
                if follow {
                    let here = poses[root].translation;
                    let shift = *first.get_or_insert(here) - here;
                    for pose in &mut poses {
                        pose.translation += shift;
                    }
                }
                Ok(Instant::new(model, &children, &poses))
            })
            .collect::<Result<Vec<_>>>()?;
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for p in instants.iter().flat_map(Instant::points) {
            for (k, x) in p.to_array().into_iter().enumerate() {
                low[k] = low[k].min(x);
                high[k] = high[k].max(x);
            }
        }
        let empty = low[0] > high[0];
        if !empty && low.iter().chain(&high).any(|x| x.abs() > 1e100) {
            return Err(Error::new(
                ErrorKind::Input,
                "a body is too far away to be drawn",
            ));
        }
        let centre = if empty {
            Vec3::zero()
        } else {
            (Vec3::from_array(low) + Vec3::from_array(high)) * 0.5
        };
        let radius = instants
            .iter()
            .flat_map(Instant::points)
            .map(|p| (p - centre).norm())
            .fold(0.0, f64::max);
        Ok(Scene {
            instants,
            centre,
            radius: if radius > 1e-100 { radius } else { 1.0 },
        })
    }

    /// The normal of the plane that contains everything, if there is exactly one.
    fn normal(&self) -> Option<Point> {
        let points = || self.instants.iter().flat_map(Instant::points);
        let first = points().next()?;
        let farther = |a: Point, b: Point| if b.norm() > a.norm() { b } else { a };
        let along = points().map(|p| p - first).fold(Vec3::zero(), farther);
        let normal = points()
            .map(|p| along.cross(p - first))
            .fold(Vec3::zero(), farther);
        let size = normal.norm();
        if size < 1e-6 * self.radius * self.radius {
            return None;
        }
        let normal = normal * (1.0 / size);
        points()
            .all(|p| normal.dot(p - first).abs() < 1e-6 * self.radius)
            .then(|| normal.map(|x| if x.abs() < 1e-9 { 0.0 } else { x }))
    }
}

impl Instant {
    fn new(model: &Model, children: &[Vec<usize>], poses: &[Pose<f64>]) -> Instant {
        let tree = model.tree();
        let mut instant = Instant::default();
        for body in model.bodies() {
            let info = &tree.bodies[body];
            let pose = poses[body];
            let origin = pose.translation;
            let seat = poses[info.parent].point(model.placement(body).translation);
            let slides = info.kind.freedoms().iter().any(|&(_, rotation)| !rotation);
            if info.parent == 0 && info.kind != JointKind::Free {
                instant.anchors.push(seat);
            }
            if slides && info.kind != JointKind::Free && (origin - seat).norm() > 0.0 {
                instant.rods.push(Rod {
                    body,
                    from: seat,
                    to: origin,
                    slide: true,
                    across: pose.rotation.x,
                });
            }
            instant.joints.push((origin, slides));
            let mut ends: Vec<Point> = children[body]
                .iter()
                .filter(|&&child| tree.bodies[child].kind != JointKind::Free)
                .map(|&child| model.placement(child).translation)
                .filter(|end| end.norm() > 0.0)
                .collect();
            let is_end = |end: &Point| end.norm() > 0.0;
            ends.extend(closing_points(model, body).filter(is_end));
            if ends.is_empty() {
                ends.extend(tip(model, body));
            }
            for end in ends {
                // the edge of a solid follows the body axis that is least aligned with it
                let [x, y, _] = end.to_array().map(f64::abs);
                instant.rods.push(Rod {
                    body,
                    from: origin,
                    to: pose.point(end),
                    slide: false,
                    across: if x <= y {
                        pose.rotation.x
                    } else {
                        pose.rotation.y
                    },
                });
            }
        }
        if tree.is_free_floating() {
            instant.edges = edges(&model.inertial(1), &poses[1]);
        }
        for constraint in model.constraints() {
            match &constraint.rule {
                Rule::Joint(closure) => instant
                    .closings
                    .push(poses[closure.child].point(closure.child_from_joint.translation)),
                Rule::Distance { between, .. } => instant.links.push((
                    [
                        poses[between.parent].point(between.parent_from_joint.translation),
                        poses[between.child].point(between.child_from_joint.translation),
                    ],
                    false,
                )),
                Rule::Coupling { .. }
                | Rule::Driver { .. }
                | Rule::Contact { .. }
                | Rule::KnifeEdge { .. }
                | Rule::Velocity { .. } => {}
            }
        }
        for element in model.forces() {
            if let ForceLaw::Spring(spring) = &element.law {
                let ends = spring.ends.map(|end| poses[end.body].point(end.point));
                instant.links.push((ends, true));
            }
        }
        instant
    }

    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let rods = self.rods.iter().flat_map(|r| [r.from, r.to]);
        let joints = self.joints.iter().map(|j| j.0);
        let fixed = self.anchors.iter().chain(&self.closings).copied();
        let links = self.links.iter().flat_map(|(ends, _)| *ends);
        let edges = self.edges.iter().flatten().copied();
        rods.chain(joints).chain(fixed).chain(links).chain(edges)
    }
}

/// The twelve edges of the uniform box with this mass, mass centre and inertia; none for a slender body, which is drawn as a rod.
fn edges(inertial: &Inertial, pose: &Pose<f64>) -> Vec<[Point; 2]> {
    let Inertial {
        mass,
        centre,
        tensor,
    } = *inertial;
    if mass <= 0.0 {
        return Vec::new();
    }
    let (moments, axes) = principal(tensor.full());
    let sum: f64 = moments.iter().sum();
    // along an axis the second moment is tr(I)/2 − I = m a²/3, with a half the length
    let half = moments.map(|moment| (3.0 * (0.5 * sum - moment) / mass).max(0.0).sqrt());
    let longest = half.iter().fold(0.0f64, |a, b| a.max(*b));
    if half.iter().any(|a| *a < 0.02 * longest) {
        return Vec::new();
    }
    let corner = |signs: usize| {
        let mut point = centre;
        for (k, axis) in axes.iter().enumerate() {
            let sign = if signs >> k & 1 == 1 { 1.0 } else { -1.0 };
            point += *axis * (sign * half[k]);
        }
        pose.point(point)
    };
    let ends = (0..8).flat_map(|one: usize| (0..3).map(move |k| (one, one | 1 << k)));
    ends.filter(|(one, other)| one != other)
        .map(|(one, other)| [corner(one), corner(other)])
        .collect()
}

/// Principal moments and axes of a symmetric matrix, by Jacobi's rotations.
fn principal(matrix: Mat3<f64>) -> ([f64; 3], [Point; 3]) {
    let mut a = matrix.rows();
    let mut axes = [
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.0),
        Vec3::new(0.0, 0.0, 1.0),
    ];
    for _ in 0..20 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q].abs() <= 1e-15 * (a[p][p].abs() + a[q][q].abs()) {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
            }
            (axes[p], axes[q]) = (axes[p] * c - axes[q] * s, axes[p] * s + axes[q] * c);
        }
    }
    ([a[0][0], a[1][1], a[2][2]], axes)
}

/// Where joints that close loops are on a body, in its own frame.
fn closing_points(model: &Model, body: usize) -> impl Iterator<Item = Point> + '_ {
    model.constraints().iter().flat_map(move |constraint| {
        let mut points = Vec::new();
        if let Rule::Joint(closure) = &constraint.rule {
            if closure.parent == body {
                points.push(closure.parent_from_joint.translation);
            }
            if closure.child == body {
                points.push(closure.child_from_joint.translation);
            }
        }
        points
    })
}

/// Where a body that carries no other ends, in its own frame.
fn tip(model: &Model, body: usize) -> Option<Point> {
    let inertial = model.inertial(body);
    let reach = inertial.centre.norm();
    let mut candidates: Vec<Point> = model
        .tree()
        .frames
        .iter()
        .filter(|f| f.body == body)
        .map(|f| f.body_from_frame.translation)
        .collect();
    if inertial.mass > 0.0 && reach > 0.0 {
        // variance of the mass along the unit vector u: (tr(I)/2 − u·I u) / m; a rod of length L has L²/12
        let u = inertial.centre * (1.0 / reach);
        let t = inertial.tensor;
        let trace = t.xx + t.yy + t.zz;
        let along = u.dot(t * u);
        let variance = ((0.5 * trace - along) / inertial.mass).max(0.0);
        candidates.push(u * (reach + (3.0 * variance).sqrt()));
    }
    candidates
        .into_iter()
        .filter(|p| p.norm() > 0.0)
        .max_by(|a, b| a.norm().total_cmp(&b.norm()))
}

/// A pinhole camera. Its picture is in metres at the distance of the scene's centre, y upward.
struct Camera {
    centre: Point,
    right: Point,
    up: Point,
    ahead: Point,
    /// Distance of the eye from the centre.
    distance: f64,
    /// Radius of the scene.
    radius: f64,
}

impl Camera {
    fn new(view: &View, scene: &Scene) -> Result<Camera> {
        let ahead = Vec3::from_array(view.direction);
        let size = ahead.norm();
        if !(size.is_finite() && size > 0.0 && view.up.iter().all(|x| x.is_finite())) {
            return Err(Error::new(
                ErrorKind::Input,
                format!("the viewing direction {:?} is unusable", view.direction),
            )
            .hint("the viewing direction must be a nonzero vector"));
        }
        let ahead = ahead * (1.0 / size);
        let mut right = ahead.cross(Vec3::from_array(view.up));
        if right.norm() <= 1e-9 * Vec3::from_array(view.up).norm() {
            right = perpendicular(ahead); // looking straight up or down
        }
        let right = right * (1.0 / right.norm());
        let distance = if view.distance.is_nan() {
            4.0
        } else {
            view.distance.max(1.5)
        };
        Ok(Camera {
            centre: scene.centre,
            right,
            up: right.cross(ahead),
            ahead,
            distance: distance * scene.radius,
            radius: scene.radius,
        })
    }

    /// Position in the picture, and depth behind its middle.
    fn see(&self, p: Point) -> ([f64; 2], f64) {
        let p = p - self.centre;
        let depth = self.ahead.dot(p);
        let scale = if self.distance.is_finite() {
            self.distance / (self.distance + depth)
        } else {
            1.0
        };
        ([self.right.dot(p) * scale, self.up.dot(p) * scale], depth)
    }
}

// ----------------------------------------------------------------------------------------------------------------- drawing

const COLOURS: [[f64; 3]; 6] = [
    [0.0, 114.0, 178.0],
    [213.0, 94.0, 0.0],
    [0.0, 158.0, 115.0],
    [204.0, 121.0, 167.0],
    [230.0, 159.0, 0.0],
    [86.0, 180.0, 233.0],
];
const DARK: &str = "fill=\"#222222\"";
const HEAD: f64 = 58.0;
const SMALL: f64 = 11.0;

/// A colour, brightened or darkened (light 1 is neutral) and mixed with white (strength 1 is full).
fn colour(rgb: [f64; 3], light: f64, strength: f64) -> String {
    let [r, g, b] = rgb.map(|c| {
        let lit = if light > 1.0 {
            255.0 - (255.0 - c) * (2.0 - light).max(0.0)
        } else {
            c * light
        };
        (255.0 - (255.0 - lit) * strength).round() as u8
    });
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The map from metres in the camera's picture to pixels.
struct Window {
    middle: [f64; 2],
    origin: [f64; 2],
    scale: f64,
}

impl Window {
    fn pixel(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [
            self.middle[0] + (x - self.origin[0]) * self.scale,
            self.middle[1] - (y - self.origin[1]) * self.scale,
        ]
    }
}

fn draw(scene: &Scene, labels: &[String], view: &View, camera: &Camera) -> String {
    let width = f64::from(view.width).max(200.0);
    // a field below this size could not be read
    let per_row = match view.layout {
        Layout::SideBySide => (width / 90.0) as usize,
        Layout::Superposed => scene.instants.len().max(1),
    };
    let rows = scene.instants.len().max(1).div_ceil(per_row);
    let height = f64::from(view.height).max(HEAD + 100.0 * rows as f64);
    let title = if view.title.is_empty() {
        "Strip of a motion"
    } else {
        &view.title
    };
    let mut canvas = Canvas::new(width, height, title);
    let shown = fit(&view.title, 14.0, width - 260.0);
    canvas.write([width / 2.0, 24.0], &shown, 14.0, Anchor::Middle, DARK);
    let n = scene.instants.len();
    if n == 0 {
        canvas.write(
            [width / 2.0, height / 2.0],
            "no instants",
            12.0,
            Anchor::Middle,
            DARK,
        );
        return canvas.finish();
    }
    // extent of the picture in metres
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for p in scene.instants.iter().flat_map(Instant::points) {
        let at = camera.see(p).0;
        for k in 0..2 {
            low[k] = low[k].min(at[k]);
            high[k] = high[k].max(at[k]);
        }
    }
    let size = [0, 1].map(|k| (high[k] - low[k]).max(1e-3 * scene.radius));
    let origin = [0, 1].map(|k| 0.5 * (low[k] + high[k]));
    let margin = 22.0; // for the ground, dots and the width of bodies
    let largest_scale = |w: f64, h: f64| {
        ((w - 2.0 * margin) / size[0])
            .min((h - 2.0 * margin) / size[1])
            .max(1e-9 / scene.radius)
    };
    let scale = match view.layout {
        Layout::SideBySide => {
            let foot = if labels.is_empty() { 4.0 } else { 20.0 };
            let (all_w, all_h) = (width - 8.0, height - HEAD);
            let best = (1..=n)
                .map(|columns| {
                    let rows = n.div_ceil(columns);
                    let (w, h) = (all_w / columns as f64, all_h / rows as f64 - foot);
                    (largest_scale(w, h), columns)
                })
                .fold((0.0, n), |a, b| if b.0 > a.0 * 1.001 { b } else { a });
            let (largest, columns) = best;
            let scale = view.scale.unwrap_or(largest);
            let rows = n.div_ceil(columns);
            let (w, h) = (all_w / columns as f64, all_h / rows as f64);
            for (k, instant) in scene.instants.iter().enumerate() {
                let (left, top) = (
                    4.0 + w * (k % columns) as f64,
                    HEAD + h * (k / columns) as f64,
                );
                let field = [left + 2.0, top + 2.0, w - 4.0, h - foot - 2.0];
                canvas.rect(
                    field,
                    "fill=\"#fafafa\" stroke=\"#e6e6e6\" stroke-width=\"0.7\"",
                );
                let window = Window {
                    middle: [left + w / 2.0, top + (h - foot) / 2.0],
                    origin,
                    scale,
                };
                if view.scale.is_some() {
                    canvas.begin_clip(field);
                }
                draw_ground(&mut canvas, &[instant], camera, &window);
                draw_instant(&mut canvas, instant, view.bodies, camera, &window, 1.0);
                if view.scale.is_some() {
                    canvas.end_clip();
                }
                if let Some(label) = labels.get(k) {
                    let at = [left + w / 2.0, top + h - 6.0];
                    let text = fit(label, SMALL, w - 6.0);
                    canvas.write(at, &text, SMALL, Anchor::Middle, DARK);
                }
            }
            scale
        }
        Layout::Superposed => {
            let widest = labels
                .iter()
                .map(|l| text_width(l, SMALL))
                .fold(0.0, f64::max)
                .min(0.3 * width);
            let legend = if labels.is_empty() {
                0.0
            } else {
                widest + 40.0
            };
            let (w, h) = (width - legend - 8.0, height - HEAD - 6.0);
            let scale = view.scale.unwrap_or_else(|| largest_scale(w, h));
            let window = Window {
                middle: [4.0 + w / 2.0, HEAD + h / 2.0],
                origin,
                scale,
            };
            let all: Vec<&Instant> = scene.instants.iter().collect();
            draw_ground(&mut canvas, &all, camera, &window);
            let strength = |k: usize| {
                if n == 1 {
                    1.0
                } else {
                    0.22 + 0.78 * k as f64 / (n - 1) as f64
                }
            };
            for (k, instant) in scene.instants.iter().enumerate() {
                draw_instant(
                    &mut canvas,
                    instant,
                    view.bodies,
                    camera,
                    &window,
                    strength(k),
                );
            }
            // as many entries as fit, the first and the last among them
            let lines = (((h - 10.0) / 16.0) as usize).clamp(2, n.max(2));
            let stride = (n - 1).div_ceil(lines - 1).max(1);
            let mut y = HEAD + 14.0;
            for (k, label) in labels.iter().enumerate() {
                if k % stride != 0 && k + 1 != n {
                    continue;
                }
                let x = width - legend + 4.0;
                let style = format!(
                    "stroke=\"{}\" stroke-width=\"4\"",
                    colour(COLOURS[0], 1.0, strength(k))
                );
                canvas.line([x, y - 4.0], [x + 22.0, y - 4.0], &style);
                let text = fit(label, SMALL, widest);
                canvas.write([x + 28.0, y], &text, SMALL, Anchor::Start, DARK);
                y += 16.0;
            }
            scale
        }
    };
    draw_axes(&mut canvas, camera);
    draw_scale_bar(&mut canvas, scale, width);
    canvas.finish()
}

/// A drawing element with its depth: elements behind it are drawn first.
enum Part<'a> {
    Rod(&'a Rod),
    Joint(Point, bool),
}

fn draw_instant(
    canvas: &mut Canvas,
    instant: &Instant,
    bodies: Bodies,
    camera: &Camera,
    window: &Window,
    strength: f64,
) {
    for ends in &instant.edges {
        let [from, to] = ends.map(|p| window.pixel(camera.see(p).0));
        let ink = colour(COLOURS[0], 1.0, 0.6 * strength);
        canvas.line(from, to, &format!("stroke=\"{ink}\" stroke-width=\"1\""));
    }
    for (ends, dashed) in &instant.links {
        let [from, to] = ends.map(|p| window.pixel(camera.see(p).0));
        let ink = colour([90.0; 3], 1.0, strength);
        let dashes = if *dashed {
            " stroke-dasharray=\"3 2.5\""
        } else {
            ""
        };
        canvas.line(
            from,
            to,
            &format!("stroke=\"{ink}\" stroke-width=\"1.2\"{dashes}"),
        );
    }
    let mut parts: Vec<(f64, Part<'_>)> = Vec::new();
    for rod in &instant.rods {
        let depth = 0.5 * (camera.see(rod.from).1 + camera.see(rod.to).1);
        parts.push((depth, Part::Rod(rod)));
    }
    if bodies == Bodies::Bones {
        for &(at, slides) in &instant.joints {
            parts.push((camera.see(at).1, Part::Joint(at, slides)));
        }
    }
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    if bodies == Bodies::Sticks {
        // on top of the sticks, in the order of the bodies
        let dots = instant
            .joints
            .iter()
            .map(|&(at, s)| (0.0, Part::Joint(at, s)));
        parts.extend(dots);
    }
    for (_, part) in parts {
        match part {
            Part::Rod(rod) if rod.slide => draw_slide(canvas, rod, camera, window, strength),
            Part::Rod(rod) => match bodies {
                Bodies::Sticks => {
                    let [from, to] = [rod.from, rod.to].map(|p| window.pixel(camera.see(p).0));
                    let style = format!(
                        "stroke=\"{}\" stroke-width=\"3.2\" stroke-linecap=\"round\"",
                        colour(COLOURS[(rod.body - 1) % COLOURS.len()], 1.0, strength)
                    );
                    canvas.line(from, to, &style);
                }
                Bodies::Bones => draw_bone(canvas, rod, camera, window, strength),
            },
            Part::Joint(at, slides) => {
                let [x, y] = window.pixel(camera.see(at).0);
                let ink = colour([30.0; 3], 1.0, strength);
                let style = format!("fill=\"#ffffff\" stroke=\"{ink}\" stroke-width=\"1.1\"");
                if slides {
                    canvas.rect([x - 2.7, y - 2.7, 5.4, 5.4], &style);
                } else {
                    canvas.circle([x, y], 2.7, &style);
                }
            }
        }
    }
    draw_closings(canvas, instant, camera, window, strength);
}

/// Joints that close loops: filled diamonds.
fn draw_closings(
    canvas: &mut Canvas,
    instant: &Instant,
    camera: &Camera,
    window: &Window,
    strength: f64,
) {
    for at in &instant.closings {
        let [x, y] = window.pixel(camera.see(*at).0);
        let corners = [[x - 4.0, y], [x, y - 4.0], [x + 4.0, y], [x, y + 4.0]];
        let ink = colour([30.0; 3], 1.0, strength);
        canvas.polygon(&corners, &format!("fill=\"{ink}\""));
    }
}

fn draw_slide(canvas: &mut Canvas, rod: &Rod, camera: &Camera, window: &Window, strength: f64) {
    let [from, to] = [rod.from, rod.to].map(|p| window.pixel(camera.see(p).0));
    let ink = colour([70.0; 3], 1.0, strength);
    canvas.line(from, to, &format!("stroke=\"{ink}\" stroke-width=\"4.6\""));
    canvas.line(from, to, "stroke=\"#ffffff\" stroke-width=\"2.4\"");
}

/// A double pyramid with a square waist near the joint. Being convex, it is drawn by its faces towards the eye.
fn draw_bone(canvas: &mut Canvas, rod: &Rod, camera: &Camera, window: &Window, strength: f64) {
    let thickest = 0.04 * camera.radius;
    let axis = rod.to - rod.from;
    let long = axis.norm();
    let across = rod.across - axis * (rod.across.dot(axis) / (long * long));
    let across = if across.norm() > 1e-3 {
        across * (1.0 / across.norm())
    } else {
        perpendicular(axis)
    };
    let other = axis.cross(across) * (1.0 / long);
    let half = (0.075 * long).min(thickest);
    let waist = rod.from + axis * 0.16;
    let corners = [
        waist + across * half,
        waist + other * half,
        waist - across * half,
        waist - other * half,
    ];
    let base = COLOURS[(rod.body - 1) % COLOURS.len()];
    // light from the upper left, behind the eye
    let light = camera.up * 0.55 - camera.right * 0.35 - camera.ahead * 0.76;
    for k in 0..4 {
        let (a, b) = (corners[k], corners[(k + 1) % 4]);
        for face in [[rod.from, b, a], [rod.to, a, b]] {
            let seen = face.map(|p| window.pixel(camera.see(p).0));
            let turn = (seen[1][0] - seen[0][0]) * (seen[2][1] - seen[0][1])
                - (seen[1][1] - seen[0][1]) * (seen[2][0] - seen[0][0]);
            if turn >= 0.0 {
                continue; // looks away (y is downward here)
            }
            let normal = (face[1] - face[0]).cross(face[2] - face[0]);
            let size = normal.norm();
            let lit = if size > 0.0 {
                normal.dot(light) / size
            } else {
                0.0
            };
            let fill = colour(base, 0.75 + 0.75 * lit.max(0.0), strength);
            let edge = colour(base, 0.6, strength);
            let style = format!(
                "fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"0.7\" stroke-linejoin=\"round\""
            );
            canvas.polygon(&seen, &style);
        }
    }
}

/// Hatched ground at the joints on the ground, on the side away from the mechanism.
fn draw_ground(canvas: &mut Canvas, instants: &[&Instant], camera: &Camera, window: &Window) {
    let mut drawn: Vec<[f64; 2]> = Vec::new();
    let ink = "stroke=\"#555555\" stroke-width=\"1.1\"";
    let fine = "stroke=\"#777777\" stroke-width=\"0.8\"";
    let count = instants
        .iter()
        .map(|i| i.joints.len())
        .sum::<usize>()
        .max(1);
    let mean_y = instants
        .iter()
        .flat_map(|i| {
            i.rods
                .iter()
                .map(|r| r.to)
                .chain(i.joints.iter().map(|j| j.0))
        })
        .map(|p| window.pixel(camera.see(p).0)[1])
        .sum::<f64>();
    let points = count + instants.iter().map(|i| i.rods.len()).sum::<usize>();
    let mean_y = mean_y / points as f64;
    for anchor in instants.iter().flat_map(|i| &i.anchors) {
        let [x, y] = window.pixel(camera.see(*anchor).0);
        if drawn.iter().any(|d| (d[0] - x).hypot(d[1] - y) < 1.0) {
            continue;
        }
        drawn.push([x, y]);
        let side = if mean_y > y + 1.0 { -1.0 } else { 1.0 };
        let level = y + side * 5.0;
        canvas.line([x, y], [x, level], ink);
        canvas.line([x - 13.0, level], [x + 13.0, level], ink);
        for k in 0..5 {
            let foot = x - 10.0 + 5.5 * f64::from(k);
            canvas.line([foot, level], [foot - 4.0, level + side * 6.0], fine);
        }
    }
}

/// The directions of the world's axes, in the upper left corner.
fn draw_axes(canvas: &mut Canvas, camera: &Camera) {
    let middle = [34.0, 34.0];
    let axes = [
        ("x", Vec3::new(1.0, 0.0, 0.0)),
        ("y", Vec3::new(0.0, 1.0, 0.0)),
        ("z", Vec3::new(0.0, 0.0, 1.0)),
    ];
    for (name, axis) in axes {
        let d = [camera.right.dot(axis), -camera.up.dot(axis)];
        if d[0].hypot(d[1]) < 0.15 {
            continue; // along the line of sight
        }
        let end = [middle[0] + 17.0 * d[0], middle[1] + 17.0 * d[1]];
        canvas.line(middle, end, "stroke=\"#666666\" stroke-width=\"1.1\"");
        let size = d[0].hypot(d[1]);
        let at = [end[0] + 7.0 * d[0] / size, end[1] + 7.0 * d[1] / size + 3.2];
        canvas.write(at, name, 10.0, Anchor::Middle, "fill=\"#444444\"");
    }
}

/// Scale bar, in the upper right corner.
fn draw_scale_bar(canvas: &mut Canvas, scale: f64, width: f64) {
    let longest = 110.0 / scale;
    let power = 10f64.powf(longest.log10().floor());
    let metres = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|m| m * power)
        .find(|m| *m <= longest)
        .unwrap_or(power);
    let text = if (1e-3..1e4).contains(&metres) {
        format!("{metres} m")
    } else {
        format!("{metres:e} m")
    };
    let (right, y) = (width - 14.0, 20.0);
    let left = right - metres * scale;
    let ink = "stroke=\"#444444\" stroke-width=\"1.1\"";
    canvas.line([left, y], [right, y], ink);
    for x in [left, right] {
        canvas.line([x, y - 3.0], [x, y + 3.0], ink);
    }
    let at = [0.5 * (left + right), y + 15.0];
    let half = text_width(&text, SMALL) / 2.0;
    let at = [at[0].min(width - 6.0 - half), at[1]];
    canvas.write(at, &text, SMALL, Anchor::Middle, "fill=\"#444444\"");
}
