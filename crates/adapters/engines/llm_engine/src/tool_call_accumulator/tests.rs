use rstest::rstest;
use serde_json::json;

use super::*;

/// Assembles the calls of lists of pieces.
fn assemble(lists: &[Value]) -> Vec<Call> {
    let mut accumulator = ToolCallAccumulator::default();
    for list in lists {
        let parts = serde_json::from_value(list.clone()).expect("pieces");
        accumulator.push(parts).expect("few calls");
    }
    accumulator.into_calls(&mut HashSet::new())
}

/// Assembles pieces that arrive one by one: id, name and arguments of the calls.
fn calls(parts: &[Value]) -> Vec<(String, String, String)> {
    let lists: Vec<_> = parts.iter().map(|part| json!([part])).collect();
    let calls = assemble(&lists).into_iter();
    calls
        .map(|call| (call.id, call.name, call.arguments))
        .collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

#[rstest]
#[case::in_pieces(vec![
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}}),
    json!({"index": 0, "function": {"arguments": "{\"zo"}}),
    json!({"index": 1, "id": "b", "function": {"name": "sum", "arguments": "{"}}),
    json!({"index": 0, "function": {"arguments": "ne\":1}"}}),
    json!({"index": 1, "function": {"arguments": "}"}}),
])]
#[case::with_everything_repeated(vec![
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{\"zo"}}),
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "ne\":1}"}}),
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}}),
    json!({"index": 1, "id": "b", "function": {"name": "sum", "arguments": "{}"}}),
])]
#[case::without_an_index(vec![
    json!({"id": "a", "function": {"name": "time", "arguments": "{\"zo"}}),
    json!({"function": {"arguments": "ne\":1}"}}),
    json!({"id": "b", "function": {"name": "sum", "arguments": {}}}),
])]
#[case::with_the_same_index(vec![
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": {"zone": 1}}}),
    json!({"index": 0, "id": "b", "function": {"name": "sum", "arguments": "{}"}}),
])]
#[case::with_another_index_for_later_pieces(vec![
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}}),
    json!({"index": 0, "function": {"arguments": "{\"zone\":1}"}}),
    json!({"index": 0, "id": "b", "function": {"name": "sum", "arguments": ""}}),
    json!({"index": 1, "function": {"arguments": "{}"}}),
])]
#[case::with_an_index_that_is_taken_for_later_pieces(vec![
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{\"zone\":1}"}}),
    json!({"index": 1, "id": "b", "function": {"name": "sum", "arguments": ""}}),
    json!({"index": 0, "function": {"arguments": "{}"}}),
])]
#[case::with_another_id_for_each_piece(vec![
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}}),
    json!({"index": 0, "id": "101", "function": {"name": "", "arguments": "{\"zo"}}),
    json!({"index": 0, "id": "102", "function": {"name": "", "arguments": "ne\":1}"}}),
    json!({"index": 1, "id": "b", "function": {"name": "sum", "arguments": "{}"}}),
])]
#[case::with_another_id_and_no_index(vec![
    json!({"id": "a", "function": {"name": "time", "arguments": ""}}),
    json!({"id": "101", "function": {"name": null, "arguments": "{\"zone\":1}"}}),
    json!({"id": "b", "function": {"name": "sum", "arguments": "{}"}}),
])]
#[case::with_names_in_pieces(vec![
    json!({"index": 0, "id": "a", "function": {"name": "ti", "arguments": ""}}),
    json!({"index": 0, "id": "a", "function": {"name": "me", "arguments": "{\"zone\":1}"}}),
    json!({"index": 1, "id": "b", "function": {"name": "s", "arguments": ""}}),
    json!({"index": 1, "function": {"name": "um", "arguments": "{}"}}),
])]
#[case::with_names_after_ids(vec![
    json!({"index": 0, "id": "a"}),
    json!({"index": 1, "id": "b"}),
    json!({"index": 0, "function": {"name": "time", "arguments": "{\"zone\":1}"}}),
    json!({"index": 1, "function": {"name": "sum", "arguments": "{}"}}),
])]
#[case::with_members_of_odd_types(vec![
    json!({"index": "0", "id": "a", "function": {"name": "time", "arguments": "{\"zo"}}),
    json!({"index": -1, "type": 5, "function": {"arguments": "ne\":1}"}}),
    json!({"index": [], "id": "b", "extra_content": null, "function": {"name": "sum", "arguments": "{}"}}),
])]
fn calls_are_assembled_from_pieces(#[case] parts: Vec<Value>) {
    let expected = [call("a", "time", r#"{"zone":1}"#), call("b", "sum", "{}")];
    assert_eq!(calls(&parts), expected);
}

#[rstest]
#[case::in_one_list(vec![json!([
    {"function": {"name": "time", "arguments": "{}"}}, {"function": {"name": "sum", "arguments": "{}"}},
])])]
#[case::with_one_name_in_one_list(vec![json!([
    {"id": "", "function": {"name": "time", "arguments": ""}}, {"id": "", "function": {"name": "time", "arguments": "{}"}},
])])]
#[case::with_one_id_in_one_list(vec![json!([
    {"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}},
    {"index": 0, "id": "a", "function": {"name": "sum", "arguments": "{}"}},
])])]
#[case::in_lists_with_one_index(vec![
    json!([{"index": 0, "id": "", "function": {"name": "time", "arguments": "{}"}}]),
    json!([{"index": 0, "id": "", "function": {"name": "time", "arguments": "{}"}}]),
])]
#[case::in_lists_with_one_id(vec![
    json!([{"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}}]),
    json!([{"index": 0, "id": "a", "function": {"name": "time", "arguments": "{\"zone\":1}"}}]),
])]
#[case::without_arguments(vec![
    json!([{"function": {"name": "time"}}]),
    json!([{"function": {"name": "sum"}}]),
])]
fn calls_without_ids_of_their_own_are_told_apart(#[case] lists: Vec<Value>) {
    assert_eq!(assemble(&lists).len(), 2);
}

#[rstest]
#[case::before_any_call(vec![
    json!({"function": {"arguments": "{\"zone\":1}"}}),
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}}),
])]
#[case::perhaps_of_another_call(vec![
    json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": ""}}),
    json!({"index": 1, "id": "b", "function": {"name": "sum", "arguments": ""}}),
    json!({"index": 2, "function": {"arguments": "{}"}}),
])]
fn a_call_beside_arguments_that_may_be_its_own_lacks_them(#[case] parts: Vec<Value>) {
    let lists: Vec<_> = parts.iter().map(|part| json!([part])).collect();
    let calls = assemble(&lists);
    assert!(calls[0].lacks_arguments);
    assert!(calls.iter().skip(1).all(|call| !call.lacks_arguments));
}

#[test]
fn arguments_after_complete_ones_make_them_invalid() {
    let parts = [
        json!({"index": 0, "id": "a", "function": {"name": "time", "arguments": "{}"}}),
        json!({"index": 0, "function": {"arguments": "{\"zone\":1}"}}),
    ];
    assert_eq!(calls(&parts), [call("a", "time", r#"{}{"zone":1}"#)]);
}

#[test]
fn a_call_without_an_id_gets_one() {
    let parts = [
        json!({"index": 0, "function": {"name": "time"}}),
        json!({"index": 1, "id": "", "function": {"name": "time"}}),
        json!({"index": 2, "id": 17, "function": {"name": "time"}}),
    ];
    let expected = [
        call("call_0", "time", ""),
        call("call_1", "time", ""),
        call("17", "time", ""),
    ];
    assert_eq!(calls(&parts), expected);
}

#[test]
fn no_two_calls_of_a_turn_have_the_same_id() {
    let rounds: [(&[&str], &[&str]); 3] = [
        (
            &["", "call_1", "call_0", ""],
            &["call_2", "call_1", "call_0", "call_3"],
        ),
        (&["call_0", "a", "a"], &["call_4", "a", "call_5"]),
        (&["", "a", "b"], &["call_6", "call_7", "b"]),
    ];
    let mut taken = HashSet::new();
    for (value, expected) in rounds {
        let mut accumulator = ToolCallAccumulator::default();
        let parts = (0..).zip(value).map(
            |(index, id): (u32, _)| json!({"index": index, "id": id, "function": {"name": "time"}}),
        );
        let parts: Vec<_> = parts.collect();
        let parts = serde_json::from_value(json!(parts)).expect("pieces");
        accumulator.push(parts).expect("few calls");
        let calls = accumulator.into_calls(&mut taken);
        let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, expected);
    }
}

#[test]
fn too_many_calls_are_rejected() {
    let mut accumulator = ToolCallAccumulator::default();
    let part = |index| CallPart {
        index: Some(index),
        id: Some(format!("id-{index}")),
        ..CallPart::default()
    };
    let rejected = (0..1000).find(|index| accumulator.push(vec![part(*index)]).is_err());
    assert_eq!(rejected, Some(64));
}
