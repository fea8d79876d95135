//! Efforts as formulas of time and state: `2*sin(3*t) - 0.5*v.shoulder`.
//!
//! ```text
//! sum     = product { (+|-) product }
//! product = sign { (*|/) sign }
//! sign    = [-|+] sign | power
//! power   = atom [ ^ sign ]
//! atom    = number[deg] | pi | t | q.NAME | v.NAME | sensor.NAME | q[NAME] | v[NAME] | sensor[NAME] | function(sum, …) | (sum)
//! ```
//!
//! The NAME of what a sensor measures is the sensor's and the measure's: `sensor.imu.sx`.

use crate::names;
use catena::error::{Error, ErrorKind, Result};

/// A formula.
#[derive(Clone, Debug)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// Time, s.
    Time,
    /// A position, index into q.
    Position(usize),
    /// A velocity, index into v.
    Velocity(usize),
    /// What a sensor measures, index into the numbers of all sensors.
    Sensor(usize),
    /// A function of one value.
    One(fn(f64) -> f64, Box<Expression>),
    /// An operator or a function of two values.
    Two(fn(f64, f64) -> f64, Box<Expression>, Box<Expression>),
}

type Of1 = fn(f64) -> f64;
type Of2 = fn(f64, f64) -> f64;

const FUNCTIONS: &[(&str, Of1)] = &[
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
    ("sqrt", f64::sqrt),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("abs", f64::abs),
    ("sign", |x| if x == 0.0 { 0.0 } else { x.signum() }),
    ("step", |x| if x < 0.0 { 0.0 } else { 1.0 }),
];

const FUNCTIONS_OF_TWO: &[(&str, Of2)] = &[
    ("min", f64::min),
    ("max", f64::max),
    ("atan2", f64::atan2),
    ("hypot", f64::hypot),
];

/// The deepest nesting of parentheses, functions and signs.
const DEEPEST: usize = 200;

/// Names that a formula may use.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Of positions, in their order.
    pub positions: Vec<String>,
    /// Of velocities.
    pub velocities: Vec<String>,
    /// Of what sensors measure, six numbers each.
    pub sensors: Vec<String>,
}

/// Values at an instant, in the order of [`Names`].
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    /// Time, s.
    pub t: f64,
    /// Positions.
    pub q: &'a [f64],
    /// Velocities.
    pub v: &'a [f64],
    /// What the sensors measure; none where no formula [needs](Expression::needs_sensors) it.
    pub sensors: &'a [[f64; 6]],
}

impl Expression {
    /// Reads a formula.
    pub fn parse(text: &str, names: &Names) -> Result<Self> {
        let mut reader = Reader {
            text,
            at: 0,
            depth: 0,
            names,
        };
        let found = reader.sum()?;
        reader.skip_spaces();
        match reader.rest().chars().next() {
            None => Ok(found),
            Some(c) => Err(reader.error(reader.at, format!("`{c}` is not expected here"))),
        }
    }

    /// Its value at an instant.
    pub fn value(&self, values: Values<'_>) -> f64 {
        match self {
            Expression::Number(x) => *x,
            Expression::Time => values.t,
            Expression::Position(k) => values.q[*k],
            Expression::Velocity(k) => values.v[*k],
            Expression::Sensor(k) => values.sensors.as_flattened()[*k],
            Expression::One(f, x) => f(x.value(values)),
            Expression::Two(f, x, y) => f(x.value(values), y.value(values)),
        }
    }

    /// Does it look at a sensor?
    pub fn needs_sensors(&self) -> bool {
        match self {
            Expression::Sensor(_) => true,
            Expression::One(_, x) => x.needs_sensors(),
            Expression::Two(_, x, y) => x.needs_sensors() || y.needs_sensors(),
            _ => false,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    names: &'a Names,
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

    /// An error at a place of the text, told by its column.
    fn error(&self, at: usize, message: String) -> Error {
        let column = 1 + self.text[..at].chars().count();
        Error::new(
            ErrorKind::Input,
            format!("`{}`, column {column}: {message}", self.text),
        )
    }

    /// Takes this sign if it is next.
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
                () if self.take('+') => |x, y| x + y,
                () if self.take('-') => |x, y| x - y,
                () => return Ok(sum),
            };
            sum = Expression::Two(operator, Box::new(sum), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression> {
        let mut product = self.sign()?;
        loop {
            let operator: Of2 = match () {
                () if self.take('*') => |x, y| x * y,
                () if self.take('/') => |x, y| x / y,
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
            Expression::One(|x| -x, Box::new(self.sign()?))
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
                f64::powf,
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
        if matches!(word, "q" | "v" | "sensor") && self.rest().starts_with(['.', '[']) {
            return self.coordinate(start, word);
        }
        match word {
            "t" => return Ok(Expression::Time),
            "pi" => return Ok(Expression::Number(std::f64::consts::PI)),
            _ => {}
        }
        let one = FUNCTIONS.iter().find(|(name, _)| *name == word);
        let two = FUNCTIONS_OF_TWO.iter().find(|(name, _)| *name == word);
        if one.is_none() && two.is_none() {
            let functions = FUNCTIONS.iter().map(|(name, _)| *name);
            let functions = functions.chain(FUNCTIONS_OF_TWO.iter().map(|(name, _)| *name));
            let is_call = self.rest().trim_start().starts_with('(');
            let what = if is_call { "function" } else { "variable" };
            let error = self.error(start, format!("there is no {what} `{word}`"));
            let near = names::nearest(word, functions.clone()).filter(|_| is_call);
            return Err(match near {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if is_call => {
                    let all: Vec<&str> = functions.collect();
                    error.hint(format!("functions are {}", all.join(", ")))
                }
                None => error.hint("variables are t, q.NAME, v.NAME and sensor.NAME; pi is known"),
            });
        }
        self.expect('(')?;
        let first = self.sum()?;
        let found = match (one, two) {
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

    /// `.NAME` or `[NAME]` after `q`, `v` or `sensor`.
    fn coordinate(&mut self, start: usize, kind: &str) -> Result<Expression> {
        let rest = self.rest();
        let name = match rest.strip_prefix('[') {
            Some(inside) => {
                let Some(length) = inside.find(']') else {
                    return Err(self.error(self.at, "`]` is missing".into()));
                };
                self.at += length + 2;
                &inside[..length]
            }
            None => {
                let inside = &rest[1..];
                let length = inside
                    .find(|c| !is_word(c) && c != '.')
                    .unwrap_or(inside.len());
                self.at += length + 1;
                &inside[..length]
            }
        };
        let names = self.names;
        let (known, what, of): (_, _, fn(usize) -> Expression) = match kind {
            "q" => (&names.positions, "coordinate", Expression::Position),
            "v" => (&names.velocities, "coordinate", Expression::Velocity),
            _ => (&names.sensors, "measure of a sensor", Expression::Sensor),
        };
        if let Some(k) = known.iter().position(|known| known == name) {
            return Ok(of(k));
        }
        let all = || known.iter().map(String::as_str);
        let error = self.error(start, format!("there is no {what} `{kind}.{name}`"));
        Err(error.hint(match names::nearest(name, all()) {
            Some(near) => format!("did you mean `{kind}.{near}`?"),
            None if known.is_empty() => {
                "the model has none; name sensors in [[sensor]] tables".into()
            }
            None if kind == "sensor" => format!("sensors measure {}", names::first_few(all())),
            None => format!("the coordinates are {}", names::first_few(all())),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let coordinates = ["elbow", "left-hip", "tilt.2"].map(String::from).to_vec();
        Names {
            positions: coordinates.clone(),
            velocities: coordinates,
            sensors: ["wx", "wy", "wz", "sx", "sy", "sz"]
                .map(|measure| format!("imu.{measure}"))
                .to_vec(),
        }
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
            let found = Expression::parse(text, &names()).expect(text);
            assert_eq!(found.needs_sensors(), text.contains("sensor"), "{text}");
            let found = found.value(Values {
                t,
                q: &q,
                v: &v,
                sensors: &[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]],
            });
            assert!((found - wanted).abs() < 1e-12, "{text}: {found}");
        }
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
            let error = Expression::parse(text, &names()).expect_err(text);
            assert!(error.message().contains(wanted), "{}", error.message());
        }
        let error = Expression::parse("sim(t)", &names()).expect_err("sim");
        assert_eq!(error.advice(), Some("did you mean `sin`?"));
        let deep = "(".repeat(100_000);
        let error = Expression::parse(&deep, &names()).expect_err("deep");
        assert!(error.message().contains("nested too deeply"));
    }
}
