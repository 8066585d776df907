//! Contents that must be as long as their files say.

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use ports::{BlobError, BlobStream};

/// Returns a content of `bytes` bytes, or an error if it certainly has another size. If only its end shows that, it
/// ends with an error, in place of bytes that are too many.
pub(super) async fn exact(mut content: BlobStream, bytes: u64) -> Result<BlobStream, BlobError> {
    let first = next_piece(&mut content).await?;
    let received = first.len() as u64;
    let second = if received < bytes {
        next_piece(&mut content).await?
    } else {
        Bytes::new()
    };
    if received > bytes || received < bytes && second.is_empty() {
        return Err(other_size());
    }
    let pieces = stream::iter([Ok(first), Ok(second)]).chain(content);
    let state = Some((pieces, bytes));
    let pieces = stream::unfold(state, |state| async {
        let (mut pieces, left) = state?;
        match pieces.next().await {
            Some(Ok(piece)) => match left.checked_sub(piece.len() as u64) {
                Some(left) => Some((Ok(piece), Some((pieces, left)))),
                None => Some((Err(other_size()), None)),
            },
            Some(Err(error)) => Some((Err(error), None)),
            None => (left > 0).then(|| (Err(other_size()), None)),
        }
    });
    Ok(pieces.boxed())
}

/// Returns the next piece that has bytes; an empty one at the end.
async fn next_piece(content: &mut BlobStream) -> Result<Bytes, BlobError> {
    while let Some(piece) = content.next().await.transpose()? {
        if !piece.is_empty() {
            return Ok(piece);
        }
    }
    Ok(Bytes::new())
}

fn other_size() -> BlobError {
    BlobError::Unavailable("the content has another size than its file".into())
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt as _;

    use super::*;

    async fn read(pieces: &[&'static str], bytes: u64) -> Result<String, usize> {
        let pieces: Vec<_> = pieces
            .iter()
            .map(|piece| Ok(Bytes::from_static(piece.as_bytes())))
            .collect();
        let content = stream::iter(pieces).boxed();
        let mut content = exact(content, bytes).await.map_err(|_error| 0_usize)?;
        let mut received = String::new();
        while let Some(piece) = content.try_next().await.map_err(|_error| received.len())? {
            received.push_str(std::str::from_utf8(&piece).unwrap());
        }
        Ok(received)
    }

    #[tokio::test]
    async fn a_content_of_another_size_breaks_off() {
        assert_eq!(read(&["", "ab", "", "c"], 3).await, Ok("abc".to_owned()));
        assert_eq!(read(&[], 0).await, Ok(String::new()));
        assert_eq!(read(&["ab"], 3).await, Err(0));
        assert_eq!(read(&["abcd"], 3).await, Err(0));
        assert_eq!(read(&["ab", "cd"], 3).await, Err(2));
        assert_eq!(read(&["a", "b"], 3).await, Err(2));
        assert_eq!(read(&[""], 3).await, Err(0));
    }
}
