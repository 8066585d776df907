//! The memory that long bodies occupy.

use std::sync::Arc;

use domain::ProblemCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::ApiError;

/// The maximum size in bytes of a body whose files it contains: that of a file in base64, and text beside it.
pub const MAX_BODY_WITH_FILES: usize = 32 * 1024 * 1024;
/// The maximum number of bytes of all such bodies in memory.
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// The unit in which memory is taken, in bytes.
const UNIT: usize = 256 * 1024;

/// The memory for all long bodies of this process.
#[derive(Debug, Clone)]
pub struct BodyMemory(Arc<Semaphore>);

/// The memory of one body, which grows while the body arrives.
#[derive(Debug)]
pub(crate) struct TakenMemory {
    all: BodyMemory,
    permit: Option<OwnedSemaphorePermit>,
}

impl Default for BodyMemory {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BYTES / UNIT)))
    }
}

impl BodyMemory {
    /// Takes memory for a body of which nothing has arrived. Fails if there is none for the declared size.
    pub(crate) fn take(&self, declared: Option<usize>) -> Result<TakenMemory, ApiError> {
        let needed = declared.unwrap_or_default().div_ceil(UNIT);
        if needed > self.0.available_permits() {
            return Err(ApiError::new(ProblemCode::Overloaded));
        }
        Ok(TakenMemory {
            all: self.clone(),
            permit: None,
        })
    }
}

impl TakenMemory {
    /// Takes as much as `bytes` need. A client that sends slowly thereby occupies only what it has sent.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let taken = self.permit.as_ref();
        let taken = taken.map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = bytes.div_ceil(UNIT).saturating_sub(taken);
        if missing == 0 {
            return Ok(());
        }
        let overloaded = || ApiError::new(ProblemCode::Overloaded);
        let missing = u32::try_from(missing).map_err(|_too_many| overloaded())?;
        let more = Arc::clone(&self.all.0).try_acquire_many_owned(missing);
        let more = more.map_err(|_none_left| overloaded())?;
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_limited_and_given_back() {
        let all = BodyMemory::default();
        let mut bodies: Vec<_> = (0..4).map(|_| all.take(None).unwrap()).collect();
        for body in &mut bodies {
            body.grow_to(1).unwrap();
            body.grow_to(MAX_BODY_WITH_FILES).unwrap();
            body.grow_to(MAX_BODY_WITH_FILES).unwrap();
        }
        assert_eq!(all.take(Some(1)).unwrap_err().code, ProblemCode::Overloaded);
        let mut other = all.take(None).unwrap();
        assert_eq!(other.grow_to(1).unwrap_err().code, ProblemCode::Overloaded);
        bodies.pop();
        other.grow_to(MAX_BODY_WITH_FILES).unwrap();
        drop((bodies, other));
        assert!(all.take(Some(MAX_BYTES)).is_ok());
        assert!(all.take(Some(MAX_BYTES + 1)).is_err());
    }
}
