//! Faults as they are found, bounded so that a hostile body cannot ask for an endless answer.

use domain::{Fault, FaultCode};

/// Most faults that one answer reports.
pub const MOST_FAULTS: usize = 100;
/// Pointers repeat the names of members around them: once they fill so many bytes together, no
/// further fault is kept. The first one always is.
const MOST_POINTER_BYTES: usize = 64 * 1024;

/// Faults as they are found, up to [`MOST_FAULTS`].
#[derive(Debug, Default)]
pub(super) struct Faults {
    found: Vec<Fault>,
    pointer_bytes: usize,
}

/// How many faults there were at some point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    found: usize,
    pointer_bytes: usize,
}

impl Faults {
    /// Whether another fault would be dropped: then its pointer need not be built.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= MOST_FAULTS || self.pointer_bytes >= MOST_POINTER_BYTES
    }

    pub(super) fn push(&mut self, fault: Fault) {
        if !self.is_full() {
            self.pointer_bytes += fault.pointer.len();
            self.found.push(fault);
        }
    }

    /// This point, to come back to by [`Self::forget_after`].
    pub(super) fn mark(&self) -> Mark {
        Mark {
            found: self.found.len(),
            pointer_bytes: self.pointer_bytes,
        }
    }

    /// Drops what was found after `mark`.
    pub(super) fn forget_after(&mut self, mark: Mark) {
        self.found.truncate(mark.found);
        self.pointer_bytes = mark.pointer_bytes;
    }

    /// All of them by pointer, each kind at a place once.
    pub(super) fn into_sorted(self) -> Vec<Fault> {
        let mut faults = self.found;
        faults.sort_by(|a, b| (&a.pointer, a.code).cmp(&(&b.pointer, b.code)));
        faults.dedup_by(|later, kept| later.pointer == kept.pointer && later.code == kept.code);
        drop_consequences(&mut faults);
        faults
    }
}

/// A value of the wrong type is also none of an enumeration's, and fails every other condition
/// that its place has: only the type is worth telling. Expects faults in order.
fn drop_consequences(faults: &mut Vec<Fault>) {
    let mistyped: Vec<String> = faults
        .iter()
        .filter(|fault| fault.code == FaultCode::WrongType)
        .map(|fault| fault.pointer.clone())
        .collect();
    faults.retain(|fault| {
        fault.code != FaultCode::UnknownValue || mistyped.binary_search(&fault.pointer).is_err()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(faults: Vec<Fault>) -> Vec<(String, FaultCode)> {
        let mut found = Faults::default();
        for fault in faults {
            found.push(fault);
        }
        let faults = found.into_sorted().into_iter();
        faults.map(|fault| (fault.pointer, fault.code)).collect()
    }

    #[test]
    fn each_kind_of_fault_at_a_place_is_told_once_and_by_pointer() {
        let told = sorted(vec![
            Fault::new("/b", FaultCode::TooLong, "at most 3 characters"),
            Fault::new("/b", FaultCode::BadCharacter, "no NUL character"),
            Fault::new("/a", FaultCode::Required, "must be there"),
            Fault::new("/b", FaultCode::BadCharacter, "said in other words"),
        ]);
        let expected = [
            ("/a".to_owned(), FaultCode::Required),
            ("/b".to_owned(), FaultCode::TooLong),
            ("/b".to_owned(), FaultCode::BadCharacter),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn an_unknown_value_of_the_wrong_type_is_a_matter_of_type_alone() {
        let told = sorted(vec![
            Fault::new("/a", FaultCode::UnknownValue, "one of 'x'"),
            Fault::new("/a", FaultCode::WrongType, "must be a string"),
            Fault::new("/b", FaultCode::UnknownValue, "one of 'x'"),
        ]);
        let expected = [
            ("/a".to_owned(), FaultCode::WrongType),
            ("/b".to_owned(), FaultCode::UnknownValue),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn neither_many_faults_nor_long_pointers_make_an_endless_answer() {
        let many = (0..1_000).map(|index| Fault::new(format!("/{index}"), FaultCode::TooLong, ""));
        assert_eq!(sorted(many.collect()).len(), MOST_FAULTS);

        let name = "x".repeat(MOST_POINTER_BYTES / 2);
        let long = (0..9).map(|i| Fault::new(format!("/{name}{i}"), FaultCode::TooLong, ""));
        assert_eq!(sorted(long.collect()).len(), 2);
    }
}
