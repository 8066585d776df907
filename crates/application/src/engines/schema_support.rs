//! How models receive schemas, as their servers have shown by refusals.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// The maximum number of models about which something is remembered: agents choose their names.
const MAX_MODELS: usize = 1000;
/// The time for which a refusal is remembered.
const REMEMBERED_FOR: Duration = Duration::from_hours(1);

/// How a model receives a schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchemaSupport {
    /// As a parameter of every request.
    #[default]
    Always,
    /// As a parameter of requests without tools.
    WithoutTools,
    /// As a text.
    AsText,
}

/// The support of the models of one engine.
#[derive(Debug, Default)]
pub(super) struct SupportByModel(Mutex<HashMap<Option<String>, (SchemaSupport, Instant)>>);

impl SupportByModel {
    /// Returns the support of a model.
    pub(super) fn of(&self, model: Option<&String>) -> SchemaSupport {
        let learned = self.0.lock().get(&model.cloned()).copied();
        let fresh = learned.filter(|(_, since)| since.elapsed() < REMEMBERED_FOR);
        fresh.map_or_else(SchemaSupport::default, |(support, _)| support)
    }

    /// Remembers the support of a model.
    pub(super) fn remember(&self, model: Option<String>, support: SchemaSupport) {
        let mut learned = self.0.lock();
        if learned.len() >= MAX_MODELS {
            learned.clear();
        }
        learned.insert(model, (support, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_remembered_for_an_hour() {
        let support = SupportByModel::default();
        let model = Some("a".to_owned());
        support.remember(model.clone(), SchemaSupport::AsText);
        tokio::time::advance(Duration::from_secs(3599)).await;
        assert_eq!(support.of(model.as_ref()), SchemaSupport::AsText);
        assert_eq!(support.of(None), SchemaSupport::Always);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(support.of(model.as_ref()), SchemaSupport::Always);
    }

    #[test]
    fn a_limited_number_of_models_is_remembered() {
        let support = SupportByModel::default();
        for number in 0..3 * MAX_MODELS {
            support.remember(Some(number.to_string()), SchemaSupport::AsText);
        }
        assert!(support.0.lock().len() <= MAX_MODELS);
    }
}
