//! `<default>`: classes of settings. A class starts with the settings of the class around it.

use super::attributes::{Attributes, Setting, Settings};
use super::schema;
use super::tree::Node;
use crate::nearest::advice;
use catena::error::{ErrorKind, Result};
use std::collections::BTreeMap;

/// The class of elements that name none.
const MAIN: &str = "main";

/// Settings of each kind of element.
type Class = BTreeMap<String, Settings>;

/// All classes by their names.
#[derive(Default)]
pub(super) struct Defaults {
    classes: BTreeMap<String, Class>,
}

impl Defaults {
    /// Reads the sections `<default>` of a model.
    pub(super) fn read(root: Node<'_>, ignore_unknown: bool) -> Result<Self> {
        let mut defaults = Defaults::default();
        defaults.classes.insert(MAIN.into(), Class::new());
        for section in root.all("default") {
            defaults.settings(section, MAIN, ignore_unknown)?;
            if let Some(name) = section.attribute("class") {
                // another name for the outermost class
                let main = defaults.classes[MAIN].clone();
                defaults.classes.insert(name.into(), main);
            }
            let mut around = vec![(section, MAIN)];
            while let Some((element, name)) = around.pop() {
                for nested in element.all("default") {
                    let own = Attributes::own(nested).require("class")?;
                    let class = defaults.classes[name].clone();
                    if defaults.classes.insert(own.into(), class).is_some() {
                        let message = format!("two default classes are called `{own}`");
                        return Err(nested.error(ErrorKind::Model, message));
                    }
                    defaults.settings(nested, own, ignore_unknown)?;
                    around.push((nested, own));
                }
            }
        }
        Ok(defaults)
    }

    /// Reads the settings of a class, apart from the classes inside it.
    fn settings(&mut self, element: Node<'_>, name: &str, ignore_unknown: bool) -> Result<()> {
        for kind in element.children().filter(|kind| kind.tag() != "default") {
            schema::check_default(kind, ignore_unknown)?;
            let class = self.classes.get_mut(name).expect("it was inserted");
            // a class has one set of settings for all its actuators
            let holder = match schema::is_actuator(kind.tag()) {
                true => "actuator",
                false => kind.tag(),
            };
            let settings = class.entry(holder.into()).or_default();
            for (key, value) in kind.attributes() {
                let setting = Setting {
                    value: value.into(),
                    place: kind.place().clone(),
                };
                settings.insert(key.into(), setting);
            }
        }
        Ok(())
    }

    /// An element with the settings of its class: the class that it names, or `around`, that of the enclosing elements. `kind`
    /// is the name under which classes hold settings for it.
    pub(super) fn of<'t>(
        &'t self,
        node: Node<'t>,
        kind: &str,
        around: Option<&str>,
    ) -> Result<Attributes<'t>> {
        let name = node.attribute("class").or(around).unwrap_or(MAIN);
        let Some(class) = self.classes.get(name) else {
            let message = format!("{}: there is no default class `{name}`", node.describe());
            let known: Vec<&str> = self.classes.keys().map(|key| &key[..]).collect();
            let error = node.error(ErrorKind::Model, message);
            return Err(error.hint(advice(name, &known)));
        };
        Ok(Attributes::new(node, class.get(kind)))
    }
}
