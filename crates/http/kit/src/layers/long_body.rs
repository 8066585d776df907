//! Long bodies in memory.

use domain::ProblemCode;
use memmap2::MmapMut;

use crate::problem::ApiError;

/// A body in pages of its own, which the system has only once they are written, and takes back at once. The allocator
/// would keep those of several such bodies for long.
pub(super) struct LongBody {
    pages: MmapMut,
    /// The number of bytes that were received.
    pub(super) length: usize,
}

impl LongBody {
    pub(super) fn with_capacity(bytes: usize) -> Result<Self, ApiError> {
        let pages = MmapMut::map_anon(bytes.max(1));
        let pages = pages.map_err(|error| {
            ApiError::new(ProblemCode::Overloaded).with_source(error.to_string())
        })?;
        Ok(Self { pages, length: 0 })
    }

    /// Adds a part that was received.
    pub(super) fn push(&mut self, part: &[u8]) -> Result<(), ApiError> {
        let length = self.length + part.len();
        let free = self.pages.get_mut(self.length..length);
        let free = free.ok_or(ApiError::new(ProblemCode::BodyTooLarge))?;
        free.copy_from_slice(part);
        self.length = length;
        Ok(())
    }
}

impl AsRef<[u8]> for LongBody {
    fn as_ref(&self) -> &[u8] {
        &self.pages[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_what_was_received() {
        let mut body = LongBody::with_capacity(5).unwrap();
        assert_eq!(body.as_ref(), b"");
        body.push(b"abc").unwrap();
        body.push(b"").unwrap();
        body.push(b"de").unwrap();
        assert_eq!(body.push(b"f").unwrap_err().code, ProblemCode::BodyTooLarge);
        assert_eq!(body.as_ref(), b"abcde");
        assert_eq!(LongBody::with_capacity(0).unwrap().as_ref(), b"");
    }
}
