//! Runs that are joined at the position of an event, or by their ids.

use domain::Scope;
use serde_json::json;

use super::client::{
    RunEvent, get, input, kinds, last, post, run, run_path, start, status_and_body, stream, text,
};
use crate::{api_server::ApiServer, engines::scripted_agent};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_restarts_after_an_event_that_it_never_had() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = input("t", "r", ("m1", "Hello"));
    let mut run = start(&api, &agent, &body).await;
    let call = script.next_call().await;
    call.use_tool("clock", json!({})).await;
    call.send_text("Good ").await;
    let turn = call.request.turn_id;
    let impossible = ["99999:1.0.0", "5:99.3.1", "5:1.99.1", "5:1.3.99"];
    let impossible = impossible.map(|position| format!("{turn}:{position}"));
    let followed = impossible.each_ref().map(|id| async {
        let headers = [("Last-Event-ID", id.as_str())];
        stream(post(&api.writer(), &agent, &body, &headers).await)
    });
    // While the run continues, and after its end.
    let followed = futures::future::join_all(followed).await;
    call.answer("morning").await;
    let complete = run.remaining().await;
    for mut stream in followed {
        let events = stream.remaining().await;
        assert_eq!(kinds(&events)[0], "RUN_STARTED");
        assert_eq!(text(&events), text(&complete));
        assert_eq!(last(&events), last(&complete));
    }
    let path = format!("{}?runId=r", run_path(&agent));
    for id in &impossible {
        let headers = [("Last-Event-ID", id.as_str())];
        for response in [
            post(&api.writer(), &agent, &body, &headers).await,
            get(&api.writer(), &path, &headers).await,
        ] {
            let events = stream(response).remaining().await;
            assert_eq!(kinds(&events)[0], "RUN_STARTED", "{id}");
            assert_eq!(events[1], complete[1], "{id}");
            assert_eq!(text(&events), text(&complete), "{id}");
            assert_eq!(last(&events)["type"], "RUN_FINISHED", "{id}");
        }
    }
    // An event of another run, and ids that are none.
    let nil = format!("{}:1:1.0.0", uuid::Uuid::nil());
    let joined = get(&api.writer(), &path, &[("Last-Event-ID", &*nil)]).await;
    let events = stream(joined).remaining().await;
    assert_eq!(kinds(&events)[0], "RUN_STARTED");
    assert_eq!(text(&events), text(&complete));
    for garbage in ["7", "", &format!("{turn}:1"), &format!("{turn}:-1:1.0.0")] {
        let headers = [("Last-Event-ID", garbage)];
        for response in [
            post(&api.writer(), &agent, &body, &headers).await,
            get(&api.writer(), &path, &headers).await,
        ] {
            let (status, error) = status_and_body(response).await;
            let expected = (400, &json!("invalid_header"));
            assert_eq!((status, &error["code"]), expected, "{garbage}");
        }
    }
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_id_several_threads_have_is_joined_in_its_thread() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut own = Vec::new();
    for thread in ["t", "u", "v"] {
        own.push(run(&api, &agent, &input(thread, "r", ("m1", "Hello"))).await);
    }
    // The same id for another message of a thread: the newest run has it.
    let newest = run(&api, &agent, &input("v", "r", ("m2", "Hello again"))).await;
    let id_of = |events: &[RunEvent]| events[1].data["messageId"].clone();
    for (thread, expected) in [("t", &own[0]), ("u", &own[1]), ("v", &newest)] {
        for caller in [api.writer(), api.reader()] {
            let path = format!("{}?runId=r&threadId={thread}", run_path(&agent));
            let joined = stream(get(&caller, &path, &[]).await).remaining().await;
            assert_eq!(joined[0].data["threadId"], thread);
            assert_eq!(id_of(&joined), id_of(expected), "{thread}");
        }
    }
    // Without a thread it is the first one.
    let path = format!("{}?runId=r", run_path(&agent));
    let joined = stream(get(&api.writer(), &path, &[]).await)
        .remaining()
        .await;
    assert_eq!(joined[0].data["threadId"], "t");
    assert_eq!(id_of(&joined), id_of(&own[0]));
    for thread in ["w", "a%20b"] {
        let path = format!("{}?runId=r&threadId={thread}", run_path(&agent));
        let (status, _) = status_and_body(get(&api.writer(), &path, &[]).await).await;
        assert!([404, 422].contains(&status), "{status}");
    }
    let other = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let path = format!("{}?runId=r&threadId=t", run_path(&agent));
    let (status, error) = status_and_body(get(&other, &path, &[]).await).await;
    assert_eq!(
        (status, &error["code"]),
        (403, &json!("insufficient_scope"))
    );
    api.stop().await;
}
