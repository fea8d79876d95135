//! Formulas: efforts of time and state, `2*sin(3*t) - 0.5*v.shoulder`, and measures of runs, `max(abs(tau.shoulder))`.
//!
//! ```text
//! sum     = product { (+|-) product }
//! product = sign { (*|/) sign }
//! sign    = [-|+] sign | power
//! power   = atom [ ^ sign ]
//! atom    = number[deg] | pi | variable | function(sum, …) | (sum)
//! variable = word { .word | [NAME] }
//! ```
//!
//! A [`Vocabulary`] defines the variables.

use crate::names;
use catena::elementary;
use catena::error::{Error, ErrorKind, Result};

/// A formula.
#[derive(Clone, Debug)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A variable, by its number.
    Variable(usize),
    /// A function of one value.
    One(Of1, Box<Expression>),
    /// An operator or a function of two values.
    Two(Of2, Box<Expression>, Box<Expression>),
}

/// A function of one value, and its derivative.
#[derive(Clone, Copy, Debug)]
pub struct Of1(fn(f64) -> f64, fn(f64) -> f64);

/// A function of two values, and its derivatives with respect to both.
#[derive(Clone, Copy, Debug)]
pub struct Of2(fn(f64, f64) -> f64, fn(f64, f64) -> [f64; 2]);

const NEGATIVE: Of1 = Of1(|x| -x, |_| -1.0);

/// At a kink the derivative is that of one side, or zero.
const FUNCTIONS: &[(&str, Of1)] = &[
    ("sin", Of1(elementary::sin, elementary::cos)),
    ("cos", Of1(elementary::cos, |x| -elementary::sin(x))),
    (
        "tan",
        Of1(elementary::tan, |x| 1.0 + elementary::tan(x).powi(2)),
    ),
    (
        "asin",
        Of1(elementary::asin, |x| 1.0 / (1.0 - x * x).sqrt()),
    ),
    (
        "acos",
        Of1(elementary::acos, |x| -1.0 / (1.0 - x * x).sqrt()),
    ),
    ("atan", Of1(elementary::atan, |x| 1.0 / (1.0 + x * x))),
    ("sinh", Of1(elementary::sinh, elementary::cosh)),
    ("cosh", Of1(elementary::cosh, elementary::sinh)),
    (
        "tanh",
        Of1(elementary::tanh, |x| 1.0 - elementary::tanh(x).powi(2)),
    ),
    ("sqrt", Of1(f64::sqrt, |x| 0.5 / x.sqrt())),
    ("exp", Of1(elementary::exp, elementary::exp)),
    ("ln", Of1(elementary::ln, |x| 1.0 / x)),
    ("abs", Of1(f64::abs, sign)),
    ("sign", Of1(sign, |_| 0.0)),
    ("step", Of1(|x| if x < 0.0 { 0.0 } else { 1.0 }, |_| 0.0)),
];

const FUNCTIONS_OF_TWO: &[(&str, Of2)] = &[
    (
        "min",
        Of2(
            f64::min,
            |x, y| if x <= y { [1.0, 0.0] } else { [0.0, 1.0] },
        ),
    ),
    (
        "max",
        Of2(
            f64::max,
            |x, y| if x >= y { [1.0, 0.0] } else { [0.0, 1.0] },
        ),
    ),
    (
        "atan2",
        Of2(elementary::atan2, |y, x| {
            let squared = x * x + y * y;
            [x / squared, -y / squared]
        }),
    ),
    (
        "hypot",
        Of2(elementary::hypot, |x, y| {
            let length = elementary::hypot(x, y);
            [x / length, y / length]
        }),
    ),
];

const PLUS: Of2 = Of2(|x, y| x + y, |_, _| [1.0, 1.0]);
const MINUS: Of2 = Of2(|x, y| x - y, |_, _| [1.0, -1.0]);
const TIMES: Of2 = Of2(|x, y| x * y, |x, y| [y, x]);
const OVER: Of2 = Of2(|x, y| x / y, |x, y| [1.0 / y, -x / (y * y)]);
const POWER: Of2 = Of2(elementary::powf, |x, y| {
    let power = elementary::powf(x, y);
    [y * elementary::powf(x, y - 1.0), power * elementary::ln(x)]
});

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// The variables of formulas.
pub trait Vocabulary {
    /// The number of a variable, as `t` or `q.elbow`; otherwise an error message and a hint.
    fn variable(&mut self, name: &str) -> std::result::Result<usize, (String, String)>;

    /// Whether this function reduces a motion to one number, so that its argument may change with time. The argument follows.
    fn enters_time(&mut self, _function: &str) -> std::result::Result<bool, String> {
        Ok(false)
    }

    /// The number of the variable that such a function of this argument becomes.
    fn over_time(&mut self, _function: &str, _argument: Expression) -> usize {
        0
    }
}

/// Time, state and sensors: t, then positions, then velocities, then sensor readings (`sensor.imu.sx`).
pub struct Motion<'a> {
    /// Names of positions.
    pub positions: &'a [String],
    /// Names of velocities.
    pub velocities: &'a [String],
    /// Names of sensor readings, each after the sensor's: `imu.sx`.
    pub sensors: &'a [String],
    /// Whether a formula named one of them.
    pub looks_at_sensors: bool,
}

impl Motion<'_> {
    /// The value of a formula at an instant: of positions, velocities, and sensor readings if a formula uses them.
    pub fn value(formula: &Expression, t: f64, [q, v, sensors]: [&[f64]; 3]) -> f64 {
        formula.value(&|k| match k {
            0 => t,
            k if k <= q.len() => q[k - 1],
            k if k <= q.len() + v.len() => v[k - 1 - q.len()],
            k => sensors[k - 1 - q.len() - v.len()],
        })
    }
}

impl Vocabulary for Motion<'_> {
    fn variable(&mut self, name: &str) -> std::result::Result<usize, (String, String)> {
        if name == "t" {
            return Ok(0);
        }
        let Some((kind @ ("q" | "v" | "sensor"), coordinate)) = name.split_once('.') else {
            let hint = "variables are t, q.NAME, v.NAME and sensor.NAME; pi is known";
            return Err((format!("there is no variable `{name}`"), hint.into()));
        };
        let after_positions = 1 + self.positions.len();
        let (known, first, what) = match kind {
            "q" => (self.positions, 1, "coordinate"),
            "v" => (self.velocities, after_positions, "coordinate"),
            _ => {
                let first = after_positions + self.velocities.len();
                (self.sensors, first, "measure of a sensor")
            }
        };
        if let Some(k) = known.iter().position(|known| known == coordinate) {
            self.looks_at_sensors |= kind == "sensor";
            return Ok(first + k);
        }
        let all = || known.iter().map(String::as_str);
        let hint = match names::nearest(coordinate, all()) {
            Some(near) => format!("did you mean `{kind}.{near}`?"),
            None if known.is_empty() => "the model has none".into(),
            None if kind != "sensor" => format!("the coordinates are {}", names::first_few(all())),
            None => format!("sensors measure {}", names::first_few(all())),
        };
        Err((format!("there is no {what} `{name}`"), hint))
    }
}

/// The deepest nesting of parentheses, functions and signs.
const DEEPEST: usize = 200;

impl Expression {
    /// Reads a formula of these variables.
    pub fn parse(text: &str, vocabulary: &mut dyn Vocabulary) -> Result<Self> {
        let mut reader = Reader {
            text,
            at: 0,
            depth: 0,
            vocabulary,
        };
        let found = reader.sum()?;
        reader.skip_spaces();
        match reader.rest().chars().next() {
            None => Ok(found),
            Some(c) => Err(reader.error(reader.at, format!("`{c}` is not expected here"))),
        }
    }

    /// Its value, with these values of variables.
    pub fn value(&self, variable: &dyn Fn(usize) -> f64) -> f64 {
        match self {
            Expression::Number(x) => *x,
            Expression::Variable(k) => variable(*k),
            Expression::One(f, x) => (f.0)(x.value(variable)),
            Expression::Two(f, x, y) => (f.0)(x.value(variable), y.value(variable)),
        }
    }

    /// Its value and its derivative, with these values and derivatives of variables.
    pub fn value_and_slope(&self, variable: &dyn Fn(usize) -> (f64, f64)) -> (f64, f64) {
        // a constant contributes nothing, whatever the function
        let along = |slope: f64, change: f64| match change == 0.0 {
            true => 0.0,
            false => slope * change,
        };
        match self {
            Expression::Number(x) => (*x, 0.0),
            Expression::Variable(k) => variable(*k),
            Expression::One(Of1(f, slope), x) => {
                let (x, dx) = x.value_and_slope(variable);
                (f(x), along(slope(x), dx))
            }
            Expression::Two(Of2(f, slopes), x, y) => {
                let ((x, dx), (y, dy)) = (x.value_and_slope(variable), y.value_and_slope(variable));
                let [by_x, by_y] = slopes(x, y);
                (f(x, y), along(by_x, dx) + along(by_y, dy))
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    vocabulary: &'a mut dyn Vocabulary,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// An error at a place of the text, given by its column.
    fn error(&self, at: usize, message: String) -> Error {
        let column = 1 + self.text[..at].chars().count();
        Error::new(
            ErrorKind::Input,
            format!("`{}`, column {column}: {message}", self.text),
        )
    }

    /// Consumes this character if it is next.
    fn take(&mut self, sign: char) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len_utf8();
        }
        found
    }

    fn expect(&mut self, sign: char) -> Result<()> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(self.error(self.at, format!("`{sign}` is missing"))),
        }
    }

    fn sum(&mut self) -> Result<Expression> {
        let mut sum = self.product()?;
        loop {
            let operator: Of2 = match () {
                () if self.take('+') => PLUS,
                () if self.take('-') => MINUS,
                () => return Ok(sum),
            };
            sum = Expression::Two(operator, Box::new(sum), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression> {
        let mut product = self.sign()?;
        loop {
            let operator: Of2 = match () {
                () if self.take('*') => TIMES,
                () if self.take('/') => OVER,
                () => return Ok(product),
            };
            product = Expression::Two(operator, Box::new(product), Box::new(self.sign()?));
        }
    }

    fn sign(&mut self) -> Result<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(self.at, "the formula is nested too deeply".into()));
        }
        let found = if self.take('-') {
            Expression::One(NEGATIVE, Box::new(self.sign()?))
        } else if self.take('+') {
            self.sign()?
        } else {
            self.power()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn power(&mut self) -> Result<Expression> {
        let base = self.atom()?;
        match self.take('^') {
            true => Ok(Expression::Two(
                POWER,
                Box::new(base),
                Box::new(self.sign()?),
            )),
            false => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<Expression> {
        if self.take('(') {
            let inside = self.sum()?;
            self.expect(')')?;
            return Ok(inside);
        }
        match self.rest().chars().next() {
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            Some(c) => Err(self.error(self.at, format!("`{c}` is not expected here"))),
            None => Err(self.error(self.at, "a number, a name or `(` is missing".into())),
        }
    }

    fn number(&mut self) -> Result<Expression> {
        let (start, rest) = (self.at, self.rest());
        let bytes = rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() {
            let is_exponent = matches!(bytes[end], b'e' | b'E')
                && bytes[end + 1..]
                    .iter()
                    .find(|byte| !matches!(byte, b'+' | b'-'))
                    .is_some_and(u8::is_ascii_digit);
            let is_its_sign = matches!(bytes[end], b'+' | b'-')
                && end > 0
                && matches!(bytes[end - 1], b'e' | b'E');
            if !(bytes[end].is_ascii_digit() || bytes[end] == b'.' || is_exponent || is_its_sign) {
                break;
            }
            end += 1;
        }
        let written = &rest[..end];
        let Some(value) = written.parse().ok().filter(|x: &f64| x.is_finite()) else {
            return Err(self.error(start, format!("`{written}` is not a number")));
        };
        self.at += end;
        if let Some(after) = self.rest().strip_prefix("deg")
            && !after.starts_with(is_word)
        {
            self.at += 3;
            return Ok(Expression::Number(value.to_radians()));
        }
        Ok(Expression::Number(value))
    }

    fn name(&mut self) -> Result<Expression> {
        let start = self.at;
        let rest = self.rest();
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        self.at += length;
        if word == "pi" {
            return Ok(Expression::Number(std::f64::consts::PI));
        }
        if self.rest().trim_start().starts_with('(') {
            return self.call(start, word);
        }
        let name = self.dotted(word)?;
        match self.vocabulary.variable(&name) {
            Ok(k) => Ok(Expression::Variable(k)),
            Err((message, hint)) => {
                let function = FUNCTIONS.iter().any(|(name, _)| *name == word)
                    || FUNCTIONS_OF_TWO.iter().any(|(name, _)| *name == word);
                match function {
                    true => Err(self.error(self.at, "`(` is missing".into())),
                    false => Err(self.error(start, message).hint(hint)),
                }
            }
        }
    }

    /// A function and its arguments.
    fn call(&mut self, start: usize, word: &str) -> Result<Expression> {
        let one = FUNCTIONS.iter().find(|(name, _)| *name == word);
        let two = FUNCTIONS_OF_TWO.iter().find(|(name, _)| *name == word);
        let makes_one = match self.has_one_argument() {
            true => self.vocabulary.enters_time(word),
            false => Ok(false),
        };
        let makes_one = makes_one.map_err(|message| self.error(start, message))?;
        if one.is_none() && two.is_none() && !makes_one {
            let functions = FUNCTIONS.iter().map(|(name, _)| *name);
            let functions = functions.chain(FUNCTIONS_OF_TWO.iter().map(|(name, _)| *name));
            let error = self.error(start, format!("there is no function `{word}`"));
            return Err(match names::nearest(word, functions.clone()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => {
                    let all: Vec<&str> = functions.collect();
                    error.hint(format!("functions are {}", all.join(", ")))
                }
            });
        }
        self.expect('(')?;
        let first = self.sum()?;
        let found = match (one, two) {
            _ if makes_one => Expression::Variable(self.vocabulary.over_time(word, first)),
            (Some((_, function)), _) => Expression::One(*function, Box::new(first)),
            (None, Some((_, function))) => {
                self.expect(',')?;
                Expression::Two(*function, Box::new(first), Box::new(self.sum()?))
            }
            (None, None) => first,
        };
        self.expect(')')?;
        Ok(found)
    }

    /// Is there no comma between the next parenthesis and its end?
    fn has_one_argument(&self) -> bool {
        let mut depth = 0;
        for c in self.rest().chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 1 => return false,
                _ => {}
            }
            if depth == 0 && c == ')' {
                break;
            }
        }
        true
    }

    /// A name that continues with `.NAME` or `[NAME]`; the latter may hold any character. Both are passed to the vocabulary with a dot.
    fn dotted(&mut self, word: &str) -> Result<String> {
        let mut name = word.to_string();
        loop {
            let rest = self.rest();
            let part = if let Some(inside) = rest.strip_prefix('[') {
                let Some(length) = inside.find(']') else {
                    return Err(self.error(self.at, "`]` is missing".into()));
                };
                self.at += length + 2;
                &inside[..length]
            } else if let Some(inside) = rest.strip_prefix('.') {
                let length = inside.find(|c| !is_word(c)).unwrap_or(inside.len());
                self.at += length + 1;
                &inside[..length]
            } else {
                return Ok(name);
            };
            name += ".";
            name += part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Expression> {
        let names = ["elbow", "left-hip", "tilt.2"].map(String::from);
        let sensors = ["wx", "wy", "wz", "sx", "sy", "sz"].map(|measure| format!("imu.{measure}"));
        let mut motion = Motion {
            positions: &names,
            velocities: &names,
            sensors: &sensors,
            looks_at_sensors: false,
        };
        Expression::parse(text, &mut motion)
    }

    #[test]
    fn values() {
        let (t, q, v) = (0.5f64, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]);
        for (text, wanted) in [
            ("2*sin(3*t) - 0.5*v.elbow", 2.0 * 1.5f64.sin() - 0.5),
            ("-2^2", -4.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("8/4/2 - 3 - 1", -3.0),
            ("1e3 + 2E-1+.5", 1000.7),
            ("90deg - pi/2", 0.0),
            ("q[left-hip] + v.tilt.2", 3.2),
            ("max(t, min(3, 2)) + atan2(0, 1) + hypot(3,4)", 7.0),
            (" ( step(-1) + step(0) ) * sign(-7) ", -1.0),
            ("exp(ln(2))*tanh(0)+abs(-3)", 3.0),
            ("sensor.imu.wy - sensor[imu.sz]", -4.0),
        ] {
            let found = parse(text).expect(text);
            let found = Motion::value(&found, t, [&q, &v, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]);
            assert!((found - wanted).abs() < 1e-12, "{text}: {found}");
        }
    }

    /// Every function and operator against central differences.
    #[test]
    fn slopes() {
        for text in [
            "2*sin(3*t) - cos(t)/tan(t)",
            "asin(t) * acos(t) + atan(t)",
            "sinh(t) - cosh(t) * tanh(t)",
            "sqrt(t) ^ exp(t) + ln(t)",
            "abs(t - 1) + sign(t) * step(t) * t",
            "min(t, 2) * max(t, 0.1) - atan2(t, 3) / hypot(t, 2)",
            "-t^3 + t^-2",
        ] {
            let found = parse(text).expect(text);
            let value = |t: f64| found.value(&|_| t);
            let (t, h) = (0.4, 1e-5);
            let (same, slope) = found.value_and_slope(&|_| (t, 2.0));
            let wanted = (value(t + h) - value(t - h)) / h;
            assert_eq!(same, value(t), "{text}");
            assert!((slope - wanted).abs() < 1e-7, "{text}: {slope}, {wanted}");
        }
        // a constant power of a negative number, and a constant next to a kink
        let square = parse("t^2 + sqrt(0)").expect("a formula");
        assert_eq!(square.value_and_slope(&|_| (-3.0, 1.0)), (9.0, -6.0));
    }

    #[test]
    fn mistakes() {
        for (text, wanted) in [
            ("", "``, column 1: a number, a name or `(` is missing"),
            ("2*", "column 3: a number, a name or `(` is missing"),
            ("2*sim(t)", "column 3: there is no function `sim`"),
            ("3*x", "column 3: there is no variable `x`"),
            ("1+q.elbo", "column 3: there is no coordinate `q.elbo`"),
            (
                "sensor.imu.s",
                "there is no measure of a sensor `sensor.imu.s`",
            ),
            ("(1+2", "column 5: `)` is missing"),
            ("1 2", "column 3: `2` is not expected here"),
            ("min(1)", "column 6: `,` is missing"),
            ("1.2.3", "column 1: `1.2.3` is not a number"),
            ("q[elbow", "column 2: `]` is missing"),
            ("§", "column 1: `§` is not expected here"),
            ("1e999", "column 1: `1e999` is not a number"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.message().contains(wanted), "{}", error.message());
        }
        let error = parse("sim(t)").expect_err("sim");
        assert_eq!(error.advice(), Some("did you mean `sin`?"));
        let deep = "(".repeat(100_000);
        let error = parse(&deep).expect_err("deep");
        assert!(error.message().contains("nested too deeply"));
    }
}
