//! The faults found in a JSON document, bounded so that a hostile document cannot cause an
//! unlimited response.

use crate::{FaultCode, InputFault};

/// The maximum number of faults in one response.
pub const MAX_FAULTS: usize = 100;
/// The maximum size in bytes of all pointers together, because pointers repeat the names of the
/// members around them. Later faults are dropped; the first is always kept.
const MAX_POINTER_BYTES: usize = 64 * 1024;

/// The faults found so far, up to [`MAX_FAULTS`].
#[derive(Debug, Default)]
pub struct Faults {
    found: Vec<InputFault>,
    pointer_bytes: usize,
}

/// The state of [`Faults`] at some point.
#[derive(Debug, Clone, Copy)]
pub struct Checkpoint {
    found: usize,
    pointer_bytes: usize,
}

impl Faults {
    /// Returns true if another fault would be dropped, so that its pointer need not be built.
    pub fn is_full(&self) -> bool {
        self.found.len() >= MAX_FAULTS || self.pointer_bytes >= MAX_POINTER_BYTES
    }

    /// Adds a fault, unless the maximum is reached.
    pub fn push(&mut self, fault: InputFault) {
        if !self.is_full() {
            self.pointer_bytes += fault.pointer.len();
            self.found.push(fault);
        }
    }

    /// The codes of all faults.
    pub fn codes(&self) -> impl Iterator<Item = FaultCode> {
        self.found.iter().map(|fault| fault.code)
    }

    /// Returns the current state, for [`Self::rollback_to`].
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            found: self.found.len(),
            pointer_bytes: self.pointer_bytes,
        }
    }

    /// Removes the faults that were added after `checkpoint`.
    pub fn rollback_to(&mut self, checkpoint: Checkpoint) {
        self.found.truncate(checkpoint.found);
        self.pointer_bytes = checkpoint.pointer_bytes;
    }

    /// Returns all faults in order of their pointers, at most one of each code for a pointer.
    pub fn into_sorted(self) -> Vec<InputFault> {
        let mut faults = self.found;
        faults.sort_by(|a, b| (&a.pointer, a.code).cmp(&(&b.pointer, b.code)));
        faults.dedup_by(|later, kept| later.pointer == kept.pointer && later.code == kept.code);
        drop_implied_faults(&mut faults);
        faults
    }
}

/// Removes faults that follow from another one: a value of the wrong type is also not in the
/// enumeration of its member. Expects sorted faults.
fn drop_implied_faults(faults: &mut Vec<InputFault>) {
    let unmet_types: Vec<String> = faults
        .iter()
        .filter(|fault| fault.code == FaultCode::WrongType)
        .map(|fault| fault.pointer.clone())
        .collect();
    faults.retain(|fault| {
        fault.code != FaultCode::UnknownValue || unmet_types.binary_search(&fault.pointer).is_err()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(faults: Vec<InputFault>) -> Vec<(String, FaultCode)> {
        let mut found = Faults::default();
        for fault in faults {
            found.push(fault);
        }
        let faults = found.into_sorted().into_iter();
        faults.map(|fault| (fault.pointer, fault.code)).collect()
    }

    #[test]
    fn each_kind_of_fault_at_a_pointer_is_reported_once_in_order() {
        let pairs = sorted(vec![
            InputFault::new("/b", FaultCode::TooLong, "at most 3 characters"),
            InputFault::new(
                "/b",
                FaultCode::BadCharacter,
                "must not contain NUL characters",
            ),
            InputFault::new("/a", FaultCode::Required, "is required"),
            InputFault::new("/b", FaultCode::BadCharacter, "in other words"),
        ]);
        let expected = [
            ("/a".to_owned(), FaultCode::Required),
            ("/b".to_owned(), FaultCode::TooLong),
            ("/b".to_owned(), FaultCode::BadCharacter),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn only_the_type_is_reported_for_an_unknown_value_of_the_wrong_type() {
        let pairs = sorted(vec![
            InputFault::new("/a", FaultCode::UnknownValue, "one of 'x'"),
            InputFault::new("/a", FaultCode::WrongType, "must be a string"),
            InputFault::new("/b", FaultCode::UnknownValue, "one of 'x'"),
        ]);
        let expected = [
            ("/a".to_owned(), FaultCode::WrongType),
            ("/b".to_owned(), FaultCode::UnknownValue),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn many_faults_and_long_pointers_are_bounded() {
        let many =
            (0..1_000).map(|index| InputFault::new(format!("/{index}"), FaultCode::TooLong, ""));
        assert_eq!(sorted(many.collect()).len(), MAX_FAULTS);

        let name = "x".repeat(MAX_POINTER_BYTES / 2);
        let long = (0..9).map(|i| InputFault::new(format!("/{name}{i}"), FaultCode::TooLong, ""));
        assert_eq!(sorted(long.collect()).len(), 2);
    }
}
