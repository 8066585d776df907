//! Settings of which there can be any number, each under a name that the operator chooses.

use super::{key::variable_for, values::Values};

/// The settings under one chosen name.
pub(super) struct NamedSettings<'a> {
    values: &'a mut Values,
    name: String,
}

impl<'a> NamedSettings<'a> {
    /// Creates the settings under `name`, in lower case.
    pub(super) fn new(values: &'a mut Values, name: String) -> Self {
        Self { values, name }
    }

    /// Returns the name, in lower case.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Reads an optional setting. `expected` completes "… must be".
    pub(super) fn read_optional<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.values.parsed(&self.variable(key), expected, parse)
    }

    /// Reads a required setting.
    pub(super) fn read_required<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.values.require(&self.variable(key), expected);
        self.read_optional(key, expected, parse)
    }

    /// Reads the settings that have a second name. `expected` completes "… must be"; `parse` receives
    /// the second name and the value.
    pub(super) fn read_members<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        mut parse: impl FnMut(&str, &str) -> Option<T>,
    ) -> Vec<T> {
        let members = self.values.members(key, &self.name).into_iter();
        members
            .filter_map(|(variable, member)| {
                let parse = |text: &str| parse(&member, text);
                self.values.parsed(&variable, expected, parse)
            })
            .collect()
    }

    /// Rejects the settings that have a second name because of others. `expected` completes
    /// "… must be".
    pub(super) fn reject_members(&mut self, key: &'static str, expected: &str) {
        for (variable, _) in self.values.members(key, &self.name) {
            self.values.reject(&variable, expected);
        }
    }

    /// Returns true if a setting is set.
    pub(super) fn is_set(&self, key: &'static str) -> bool {
        self.values.is_set(&self.variable(key))
    }

    /// Rejects a setting because of others. `expected` completes "… must be".
    pub(super) fn reject(&mut self, key: &'static str, expected: &str) {
        self.values.reject(&self.variable(key), expected);
    }

    /// Rejects a setting because `used_by`, such as "an engine", already has its name.
    pub(super) fn reject_name(&mut self, key: &'static str, used_by: &'static str) {
        self.values
            .reject_name(&self.variable(key), &self.name, used_by);
    }

    fn variable(&self, key: &'static str) -> String {
        variable_for(key, &self.name)
    }
}
