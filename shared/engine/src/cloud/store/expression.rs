//! Building update expressions: an attribute is named once, and reserved words do no harm.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;

use super::{Item, number};

/// The writes of an update, and the names and values that its condition uses.
#[derive(Default)]
pub(super) struct Update {
    writes: Vec<Write>,
    names: Vec<(String, String)>,
    values: Vec<(String, AttributeValue)>,
}

/// One write to an attribute.
enum Write {
    Set(String, AttributeValue),
    Remove(String),
    CountUp(String),
    Add(String, AttributeValue),
    Delete(String, AttributeValue),
}

impl Update {
    fn write(mut self, write: Write) -> Update {
        self.writes.push(write);
        self
    }

    pub(super) fn set(self, attribute: &str, value: AttributeValue) -> Update {
        self.write(Write::Set(attribute.to_owned(), value))
    }

    pub(super) fn set_all(self, item: Item) -> Update {
        item.into_iter().fold(self, |update, (attribute, value)| update.set(&attribute, value))
    }

    pub(super) fn set_if(self, attribute: &str, value: Option<AttributeValue>) -> Update {
        match value {
            Some(value) => self.set(attribute, value),
            None => self,
        }
    }

    pub(super) fn remove(self, attribute: &str) -> Update {
        self.write(Write::Remove(attribute.to_owned()))
    }

    pub(super) fn count_up(self, attribute: &str) -> Update {
        self.write(Write::CountUp(attribute.to_owned()))
    }

    pub(super) fn add(self, attribute: &str, member: &str) -> Update {
        self.write(Write::Add(attribute.to_owned(), one_member(member)))
    }

    pub(super) fn delete(self, attribute: &str, member: &str) -> Update {
        self.write(Write::Delete(attribute.to_owned(), one_member(member)))
    }

    /// Adds a value that the condition refers to by a placeholder.
    pub(super) fn given(mut self, place: &str, value: AttributeValue) -> Update {
        self.values.push((place.to_owned(), value));
        self
    }

    /// Lets the condition use `#status`.
    pub(super) fn naming_status(self) -> Update {
        self.naming("#status", "status")
    }

    /// Lets the condition use an attribute whose name DynamoDB reserves.
    pub(super) fn naming(mut self, place: &str, attribute: &str) -> Update {
        self.names.push((place.to_owned(), attribute.to_owned()));
        self
    }

    pub(super) fn on(mut self, request: UpdateItemFluentBuilder) -> UpdateItemFluentBuilder {
        let request = request.update_expression(self.text());
        let request = self
            .names
            .into_iter()
            .fold(request, |r, (place, name)| r.expression_attribute_names(place, name));
        self.values
            .into_iter()
            .fold(request, |r, (place, value)| r.expression_attribute_values(place, value))
    }

    pub(super) fn in_transaction(mut self, update: UpdateBuilder) -> UpdateBuilder {
        let update = update.update_expression(self.text());
        let update = self
            .names
            .into_iter()
            .fold(update, |u, (place, name)| u.expression_attribute_names(place, name));
        self.values
            .into_iter()
            .fold(update, |u, (place, value)| u.expression_attribute_values(place, value))
    }

    /// The writes in PartiQL, with the values in their order. `None`: PartiQL cannot express them.
    pub(super) fn stated(self) -> Option<(String, Vec<AttributeValue>)> {
        let (mut text, mut parameters) = (String::new(), Vec::new());
        for write in self.writes {
            match write {
                Write::Set(attribute, value) => {
                    text.push_str(&format!(" SET \"{attribute}\" = ?"));
                    parameters.push(value);
                }
                Write::Remove(attribute) => text.push_str(&format!(" REMOVE \"{attribute}\"")),
                Write::CountUp(_) | Write::Add(..) | Write::Delete(..) => return None,
            }
        }
        Some((text, parameters))
    }

    /// The update expression; its names and values are added to the update.
    fn text(&mut self) -> String {
        let (mut clauses, mut sets, mut removes) = (Vec::new(), Vec::new(), Vec::new());
        for write in std::mem::take(&mut self.writes) {
            match write {
                Write::Set(attribute, value) => {
                    sets.push(format!("{} = {}", self.name(&attribute), self.value(value)));
                }
                Write::Remove(attribute) => removes.push(self.name(&attribute)),
                Write::CountUp(attribute) => {
                    let (name, one) = (self.name(&attribute), self.value(number(1)));
                    sets.push(format!("{name} = {name} + {one}"));
                }
                Write::Add(attribute, value) => {
                    clauses.push(format!("ADD {} {}", self.name(&attribute), self.value(value)));
                }
                Write::Delete(attribute, value) => {
                    clauses.push(format!("DELETE {} {}", self.name(&attribute), self.value(value)));
                }
            }
        }
        if !sets.is_empty() {
            clauses.push(format!("SET {}", sets.join(", ")));
        }
        if !removes.is_empty() {
            clauses.push(format!("REMOVE {}", removes.join(", ")));
        }
        clauses.join(" ")
    }

    fn name(&mut self, attribute: &str) -> String {
        let place = format!("#n{}", self.names.len());
        self.names.push((place.clone(), attribute.to_owned()));
        place
    }

    fn value(&mut self, value: AttributeValue) -> String {
        let place = format!(":v{}", self.values.len());
        self.values.push((place.clone(), value));
        place
    }
}

fn one_member(member: &str) -> AttributeValue {
    AttributeValue::Ss(vec![member.to_owned()])
}
