//! Answers of servers that know no streams.

use domain::{FinishReason, Usage};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{given::heard, upstream::whole};

fn answer(message: &Value, reason: &Value) -> Value {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]})
}

#[tokio::test]
async fn a_whole_answer_is_one_delta_and_its_end() {
    let mut answer = answer(
        &json!({"role": "assistant", "content": "Hello"}),
        &json!("length"),
    );
    answer["usage"] = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    let said = heard([whole(200, "", &answer)]).await;
    assert_eq!(said.deltas(), ["Hello"]);
    let counted = Usage {
        input_tokens: 7,
        output_tokens: 2,
    };
    assert_eq!(said.end(), (FinishReason::Length, Some(counted)));
}

#[tokio::test]
async fn an_empty_answer_has_no_delta() {
    let answer = answer(&json!({"content": null}), &json!("content_filter"));
    let said = heard([whole(200, "", &answer)]).await;
    assert_eq!(said.chunks.len(), 1);
    assert_eq!(said.end().0, FinishReason::ContentFilter);
}

#[rstest]
#[case(json!({}))]
#[case(json!([]))]
#[case(json!({"choices": []}))]
#[case(json!({"choices": "none"}))]
#[case(answer(&json!({"content": "Hello"}), &Value::Null))]
#[case(answer(&json!({"content": ""}), &json!("stop")))]
#[case(answer(&json!({"content": "a".repeat(1024 * 1024)}), &json!("stop")))]
#[tokio::test]
async fn what_is_no_answer_is_bad(#[case] answer: Value) {
    let said = heard([whole(200, "", &answer)]).await;
    assert!(
        matches!(said.error, Some(ports::ReplyError::BadAnswer(_))),
        "{said:?}"
    );
}
