//! The tokens of calls on their way. A message has no place for them: it is sent, and may be logged.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use reqwest::header::{HeaderValue, InvalidHeaderValue};

/// The values of `Authorization` by the id of the call, for as long as it runs.
#[derive(Clone, Default)]
pub(crate) struct Bearers(Arc<Mutex<HashMap<String, HeaderValue>>>);

impl Bearers {
    /// Adds the token of a call, until the result is dropped.
    pub(crate) fn add(&self, call_id: &str, token: &str) -> Result<Bearer, InvalidHeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {token}"))?;
        value.set_sensitive(true);
        self.0.lock().insert(call_id.to_owned(), value);
        Ok(Bearer {
            all: self.clone(),
            call_id: call_id.to_owned(),
        })
    }

    /// Returns the value of a call.
    pub(crate) fn get(&self, call_id: &str) -> Option<HeaderValue> {
        self.0.lock().get(call_id).cloned()
    }
}

/// The token of a call.
pub(crate) struct Bearer {
    all: Bearers,
    call_id: String,
}

impl Drop for Bearer {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.call_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_one_call_and_ends_with_it() {
        let bearers = Bearers::default();
        let one = bearers.add("t-1", "one").expect("a token");
        let two = bearers.add("t-2", "two").expect("a token");
        let value = bearers.get("t-1").expect("its value");
        assert_eq!(value, "Bearer one");
        assert!(!format!("{value:?}").contains("one"), "{value:?}");
        drop(one);
        assert_eq!(bearers.get("t-1"), None);
        assert_eq!(bearers.get("t-2").expect("its value"), "Bearer two");
        drop(two);
        assert!(bearers.0.lock().is_empty());
    }
}
