//! Builds update expressions, so that an attribute is named once and reserved words do no harm.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;

use super::Item;

/// What an update writes, and the names and values its condition uses.
#[derive(Default)]
pub(super) struct Update {
    sets: Vec<String>,
    removes: Vec<String>,
    others: Vec<String>,
    names: Vec<(String, String)>,
    values: Vec<(String, AttributeValue)>,
}

impl Update {
    pub(super) fn set(mut self, attribute: &str, value: AttributeValue) -> Update {
        let (name, place) = (self.name(attribute), self.value(value));
        self.sets.push(format!("{name} = {place}"));
        self
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

    pub(super) fn remove(mut self, attribute: &str) -> Update {
        let name = self.name(attribute);
        self.removes.push(name);
        self
    }

    pub(super) fn count_up(mut self, attribute: &str) -> Update {
        let (name, one) = (self.name(attribute), self.value(super::number(1)));
        self.sets.push(format!("{name} = {name} + {one}"));
        self
    }

    pub(super) fn add(mut self, attribute: &str, member: &str) -> Update {
        let (name, place) = (self.name(attribute), self.value(one_member(member)));
        self.others.push(format!("ADD {name} {place}"));
        self
    }

    pub(super) fn delete(mut self, attribute: &str, member: &str) -> Update {
        let (name, place) = (self.name(attribute), self.value(one_member(member)));
        self.others.push(format!("DELETE {name} {place}"));
        self
    }

    /// A value the condition names.
    pub(super) fn given(mut self, place: &str, value: AttributeValue) -> Update {
        self.values.push((place.to_owned(), value));
        self
    }

    /// Lets the condition say `#status`.
    pub(super) fn naming_status(mut self) -> Update {
        self.names.push(("#status".to_owned(), "status".to_owned()));
        self
    }

    pub(super) fn on(self, request: UpdateItemFluentBuilder) -> UpdateItemFluentBuilder {
        let request = request.update_expression(self.text());
        let request = self
            .names
            .into_iter()
            .fold(request, |r, (place, name)| r.expression_attribute_names(place, name));
        self.values
            .into_iter()
            .fold(request, |r, (place, value)| r.expression_attribute_values(place, value))
    }

    pub(super) fn in_transaction(self, update: UpdateBuilder) -> UpdateBuilder {
        let update = update.update_expression(self.text());
        let update = self
            .names
            .into_iter()
            .fold(update, |u, (place, name)| u.expression_attribute_names(place, name));
        self.values
            .into_iter()
            .fold(update, |u, (place, value)| u.expression_attribute_values(place, value))
    }

    fn text(&self) -> String {
        let mut clauses = self.others.clone();
        if !self.sets.is_empty() {
            clauses.push(format!("SET {}", self.sets.join(", ")));
        }
        if !self.removes.is_empty() {
            clauses.push(format!("REMOVE {}", self.removes.join(", ")));
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
