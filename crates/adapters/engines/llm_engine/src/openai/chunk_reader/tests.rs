//! Tests of reading chunks with and without a template.

use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

const CHUNKS: &[&str] = &[
    r#"{"choices":[{"delta":{"content":"a"}}]}"#,
    r#"{"choices":[{"delta":{"content":"bc"}}]}"#,
    r#"{"choices":[{"delta":{"content":""}}]}"#,
    r#"{"choices":[{"delta":{"content":"\u0000\n"}}]}"#,
    r#"{"choices":[{"delta":{"content":"d"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"delta":{"content":"e"},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"index":1,"delta":{"content":"f"}}]}"#,
    r#"{"choices":[{"delta":{"reasoning_content":"g"}}]}"#,
    r#"{"choices":[{"delta":{"content":"h"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
];

proptest! {
    #[test]
    fn a_template_changes_no_response(chunks in vec(select(CHUNKS), 0..9)) {
        let mut reader = ChunkReader::default();
        let (mut read, mut parsed) = (ResponseAccumulator::default(), ResponseAccumulator::default());
        for json in chunks.iter().map(|json| json.as_bytes()) {
            reader.push(json, None, &mut read).unwrap();
            ChunkReader::default().push(json, None, &mut parsed).unwrap();
        }
        prop_assert_eq!(read.is_complete(), parsed.is_complete());
        prop_assert_eq!((read.text, read.reasoning), (parsed.text, parsed.reasoning));
        prop_assert_eq!((read.finish_reason, read.usage), (parsed.finish_reason, parsed.usage));
    }
}
