//! Requests to a model begin as the ones before, so that its server can reuse what it has computed.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    files::upload,
};

/// The arguments of each call.
const SUM: &str = r#"{"expression": "2 + 3"}"#;

/// A model that calls the calculator once before each reply. Returns its port and the bodies of its requests.
fn model() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let (sender, bodies) = channel();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || answer(connection, &sender));
        }
    });
    (port, bodies)
}

fn answer(connection: TcpStream, bodies: &Sender<String>) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    let mut connection = connection;
    loop {
        // The list of models is requested, too: it has no body.
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let header = line.to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        let request: Value = serde_json::from_str(&body).unwrap_or_default();
        let messages = request["messages"].as_array();
        let last = messages.and_then(|messages| messages.last());
        let has_result = last.is_some_and(|message| message["role"] == "tool");
        let message = if has_result {
            json!({"content": "It is noon."})
        } else {
            let call = json!({"id": "c", "function": {"name": "calculator", "arguments": SUM}});
            json!({"tool_calls": [call]})
        };
        let choice = json!({"message": message, "finish_reason": "stop"});
        let answer = json!({"choices": [choice]}).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        connection.write_all((head + &answer).as_bytes()).ok()?;
        if !has_result && !body.is_empty() {
            bodies.send(body).ok()?;
        }
    }
}

/// Uploads a text file.
async fn text(caller: &Caller, content: &str) -> String {
    let headers = [("Content-Type", "text/plain")];
    id_of(&upload(caller, content.as_bytes(), &headers).await.created())
}

/// The first requests of `turns` turns; every `files_every`-th message has a text file. With `is_staffed`, staff sends
/// a file after every third turn.
async fn first_requests(
    history: Value,
    turns: usize,
    (files_every, is_staffed): (usize, bool),
) -> Vec<String> {
    let (port, bodies) = model();
    let api: ApiServer = ApiServerBuilder::default()
        .setting("LLM__BASE_URL", &format!("http://127.0.0.1:{port}/v1"))
        .setting("LLM__MODEL", "m")
        .start()
        .await;
    let agent = json!({
        "name": "Ada", "capabilities": ["calculator", "orders"],
        "config": {"engine": "llm", "history": history, "greeting": "Welcome!"},
    });
    let agent = id_of(&api.agent(agent).await);
    let command = json!({"agentId": agent, "context": "Order A-77."});
    let conversation = id_of(&api.conversation(command).await);
    let writer = api.writer();
    let mut requests = Vec::new();
    for turn in 0..turns {
        let files = if turn % files_every == 0 {
            vec![text(&writer, &format!("The content of file {turn}.")).await]
        } else {
            Vec::new()
        };
        let message = format!("What time is it now, for the {turn}. time?");
        let command = json!({
            "agentId": agent, "conversationId": conversation, "message": message, "files": files,
        });
        let reply = writer.post("/api/chat", command).await.ok();
        assert_eq!(reply["message"], "It is noon.");
        requests.push(bodies.try_recv().expect("a request"));
        if is_staffed && turn % 3 == 2 {
            let path = format!("/api/conversations/{conversation}/messages");
            let file = text(&writer, &format!("What staff sends after {turn}.")).await;
            let draft = json!({"content": "Look.", "files": [file]});
            writer.post(&path, draft).await.created();
        }
    }
    api.stop().await;
    requests
}

/// The numbers of the turns whose request does not begin with all messages of the one before.
fn breaks(requests: &[String]) -> Vec<usize> {
    let is_broken = |pair: &[String]| {
        let (messages, rest) = pair[0].split_once(r#"],"stream":"#).expect("messages");
        let tools = |text: &str| {
            text.split_once(r#""tools":"#)
                .map(|(_, tools)| tools.to_owned())
        };
        assert!(tools(rest).is_some() && tools(rest) == tools(&pair[1]));
        !pair[1].starts_with(messages)
    };
    let pairs = (1..).zip(requests.windows(2));
    pairs
        .filter_map(|(turn, pair)| is_broken(pair).then_some(turn))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_window_of_messages_moves_once_in_five_turns() {
    let requests = first_requests(json!({"maxMessages": 40}), 36, (8, false)).await;
    // The greeting is the first of the 40 messages.
    let breaks = breaks(&requests);
    assert_eq!(breaks, [20, 25, 30, 35], "of ten turns at most two");
    assert!(requests[35].contains("The content of file 32."));
    assert!(!requests[35].contains("for the 17. time"), "it is cut off");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_full_of_characters_moves_rarely() {
    let history = json!({"maxCharacters": 2_000});
    let requests = first_requests(history, 40, (50, false)).await;
    let breaks = breaks(&requests);
    let last: Vec<_> = breaks.iter().filter(|turn| **turn >= 30).collect();
    assert!((1..=6).contains(&last.len()), "{breaks:?}");
    assert!(breaks[0] > 5, "{breaks:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_files_change_twice_in_four_turns() {
    let requests = first_requests(json!({"maxMessages": 100}), 18, (1, false)).await;
    let breaks = breaks(&requests);
    // In four turns two steps, of two files each.
    assert_eq!(breaks, [8, 9, 12, 13, 16, 17]);
    assert!(requests[17].contains("The content of file 17."));
    assert!(!requests[17].contains("The content of file 9."));
    assert!(requests[17].contains("[file: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_staff_are_named_and_change_no_beginning() {
    let requests = first_requests(json!({"maxMessages": 100}), 10, (4, true)).await;
    assert_eq!(breaks(&requests), Vec::<usize>::new());
    let last = &requests[9];
    assert_eq!(
        last.matches(r"Staff: Look.\n\n[file: file.txt, id ")
            .count(),
        3
    );
    assert!(!last.contains("What staff sends"), "{last}");
}
