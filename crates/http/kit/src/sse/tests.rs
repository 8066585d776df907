use actix_web::body::MessageBody;
use futures::{FutureExt as _, StreamExt as _, channel::mpsc, stream};

use super::*;

fn event(seq: i64, data: &str) -> Frame {
    let mut events = Events::default();
    events.push_json("agent.created", seq, data);
    events.into()
}

/// Returns a frame as it is sent.
fn text(frame: Frame) -> String {
    let mut body = Box::pin(stream(stream::iter([frame])).into_body());
    next_text(&mut body).unwrap()
}

/// Parses a stream like a client that follows the standard: type, last id and data of each event.
fn dispatched(stream: &str) -> Vec<(String, String, String)> {
    let (mut name, mut id, mut data) = (String::new(), String::new(), String::new());
    let mut events = Vec::new();
    for line in stream.lines() {
        if line.is_empty() {
            if let Some(data) = data.strip_suffix('\n') {
                events.push((name.clone(), id.clone(), data.to_owned()));
            }
            (name, data) = (String::new(), String::new());
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "id" => value.clone_into(&mut id),
            "data" => {
                data.push_str(value);
                data.push('\n');
            }
            _ => {}
        }
    }
    events
}

#[tokio::test]
async fn an_event_has_type_id_and_data() {
    let text = text(event(7, r#"{"seq":7}"#));
    assert_eq!(text, "event: agent.created\nid: 7\ndata: {\"seq\":7}\n\n");
}

#[tokio::test]
async fn an_event_outside_of_the_log_has_no_id() {
    let mut events = Events::default();
    let data = serde_json::json!({"text": "one\ntwo\r"});
    events.push(Some("reply.delta"), None::<i64>, &data);
    let expected = r#"{"text":"one\ntwo\r"}"#;
    assert_eq!(
        text(events.into()),
        format!("event: reply.delta\ndata: {expected}\n\n")
    );
}

#[tokio::test]
async fn reconnect_instructions_are_not_visible_as_an_event() {
    let frame = Frame::Reconnect {
        after: Duration::from_millis(1_500),
        from: Seq(4),
    };
    let text = text(frame);
    assert_eq!(text, "retry: 1500\nid: 4\n");
    assert_eq!(dispatched(&text), []);
}

/// `@microsoft/fetch-event-source` calls `onmessage` at every blank line, also where no data came.
#[tokio::test]
async fn only_events_end_with_a_blank_line() {
    let begin = Frame::Reconnect {
        after: Duration::from_millis(1_500),
        from: Seq(4),
    };
    let frames = [text(begin), text(event(5, "{}"))].concat();
    let comments = [comment(Some(Seq(6))), comment(None)].concat();
    let stream = frames + std::str::from_utf8(&comments).unwrap();
    assert_eq!(stream.matches("\n\n").count(), 1, "{stream}");
    let read = ("agent.created".to_owned(), "5".to_owned(), "{}".to_owned());
    assert_eq!(dispatched(&stream), [read]);
}

/// Returns the next bytes of the stream, if they are available.
fn next_text(body: &mut Pin<Box<impl MessageBody>>) -> Option<String> {
    let next = std::future::poll_fn(|context| body.as_mut().poll_next(context));
    let bytes = next.now_or_never()??;
    let Ok(bytes) = bytes else {
        panic!("the stream fails")
    };
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_comment_is_sent_after_15_seconds_without_a_frame() {
    let (sender, frames) = mpsc::unbounded::<Frame>();
    let mut body = Box::pin(stream(frames).into_body());
    assert_eq!(next_text(&mut body), None);
    tokio::time::advance(Duration::from_secs(14)).await;
    sender.unbounded_send(event(1, "{}")).unwrap();
    assert!(next_text(&mut body).unwrap().starts_with("event: "));
    tokio::time::advance(Duration::from_secs(14)).await;
    assert_eq!(next_text(&mut body), None);
    for _ in 0..3 {
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(next_text(&mut body).unwrap(), ":\n");
        assert_eq!(next_text(&mut body), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_position_is_sent_once_with_the_next_comment() {
    let (sender, frames) = mpsc::unbounded();
    let mut body = Box::pin(stream(frames).into_body());
    for seq in [5, 9] {
        sender.unbounded_send(Frame::Position(Seq(seq))).unwrap();
    }
    assert_eq!(next_text(&mut body), None);
    tokio::time::advance(Duration::from_secs(15)).await;
    assert_eq!(next_text(&mut body).unwrap(), ":\nid: 9\n");
    tokio::time::advance(Duration::from_secs(15)).await;
    assert_eq!(next_text(&mut body).unwrap(), ":\n");
}

#[tokio::test(start_paused = true)]
async fn a_position_before_an_event_is_not_sent() {
    let frames = [Frame::Position(Seq(5)), event(9, "{}")];
    let frames = stream::iter(frames).chain(stream::pending());
    let mut body = Box::pin(stream(frames).into_body());
    assert!(next_text(&mut body).unwrap().contains("id: 9"));
    assert_eq!(next_text(&mut body), None);
    tokio::time::advance(Duration::from_secs(15)).await;
    assert_eq!(next_text(&mut body).unwrap(), ":\n");
}

#[tokio::test]
async fn a_stream_is_not_cached_or_buffered_and_ends_with_its_frames() {
    let response = stream(stream::iter([event(1, "{}")]));
    let header = |name| response.headers().get(name).unwrap().to_str().unwrap();
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("cache-control"), "no-store, no-transform");
    assert_eq!(header("x-accel-buffering"), "no");
    let body = actix_web::body::to_bytes(response.into_body()).await;
    let Ok(body) = body else {
        panic!("the stream fails")
    };
    assert_eq!(body, "event: agent.created\nid: 1\ndata: {}\n\n");
}
