//! `ToolProvider`: the contract of every provider of tools.

use std::collections::BTreeSet;

use futures::future::join_all;
use ports::{CapabilityKind, ToolArguments, ToolContext, ToolError, ToolProvider};

use crate::fixture;

/// Expands to one test per promise of a provider of tools. `$fixture` is the path (from the crate's
/// root) of an async function whose result derefs to a `ports::ToolProvider` with tools. `$sample`
/// is the path of a function that returns the name of one tool and valid arguments for it.
#[macro_export]
macro_rules! tool_provider_contract {
    ($fixture:path, $sample:path) => {
        $crate::tool_provider_contract! {
            $fixture, $sample;
            capabilities_are_ordered_by_name,
            tools_are_ordered_by_name,
            tools_are_those_of_available_capabilities,
            arguments_are_described_as_an_object,
            a_call_returns_text,
            an_unknown_tool_is_unavailable,
            dropping_a_call_stops_no_other_call,
            many_calls_can_run_at_once,
        }
    };
    ($fixture:path, $sample:path; $($promise:ident,)*) => {
        mod tool_provider {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $promise() {
                    let fixture = $fixture().await;
                    let (name, arguments) = $sample();
                    $crate::tool_provider::$promise(&*fixture, name, &arguments).await;
                }
            )*
        }
    };
}

/// The context of the first call of a turn in the conversation of the user `ada`.
pub fn context() -> ToolContext {
    let turn_id = fixture::turn_id(1);
    ToolContext {
        tenant: fixture::tenant(),
        agent_id: fixture::agent_id(1),
        agent_version: 1,
        user_id: Some("ada".to_owned()),
        conversation_id: Some(fixture::conversation_id(1)),
        turn_id,
        call_id: format!("{turn_id}-1"),
        attempt: 1,
        started_by: fixture::principal(),
        credential: None,
    }
}

/// `capabilities` MUST be ordered by name, without duplicates.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn capabilities_are_ordered_by_name<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    _arguments: &ToolArguments,
) {
    let capabilities = provider.capabilities();
    let names: Vec<_> = capabilities
        .iter()
        .map(|capability| capability.name.as_str())
        .collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    assert!(names.contains(&sample), "{names:?}");
}

/// `tools` MUST be ordered by name, without duplicates.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn tools_are_ordered_by_name<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    _arguments: &ToolArguments,
) {
    let tools = provider.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    assert!(names.contains(&sample), "{names:?}");
}

/// The tools are exactly the available capabilities of their kind, with the same descriptions.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn tools_are_those_of_available_capabilities<P: ToolProvider + ?Sized>(
    provider: &P,
    _sample: &str,
    _arguments: &ToolArguments,
) {
    let found = provider.provided();
    let capabilities = found.capabilities.into_iter();
    let available = capabilities
        .filter(|received| received.kind == CapabilityKind::Tool && received.is_available)
        .map(|received| (received.name, received.description));
    let offered = found
        .tools
        .iter()
        .map(|tool| (tool.name.clone(), tool.description.clone()));
    assert_eq!(available.collect::<BTreeSet<_>>(), offered.collect());
}

/// Arguments are always an object.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn arguments_are_described_as_an_object<P: ToolProvider + ?Sized>(
    provider: &P,
    _sample: &str,
    _arguments: &ToolArguments,
) {
    for tool in provider.tools() {
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
    }
}

/// `call` MUST return text.
pub async fn a_call_returns_text<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    arguments: &ToolArguments,
) {
    let result = provider.call(sample, arguments, &context()).await;
    assert!(!result.expect("an answer").is_empty());
}

/// A name that the provider does not have is `Unavailable`: it may have had the tool a moment ago.
pub async fn an_unknown_tool_is_unavailable<P: ToolProvider + ?Sized>(
    provider: &P,
    _sample: &str,
    arguments: &ToolArguments,
) {
    for name in ["", "a_tool_of_nobody", "nobody/a_tool"] {
        let result = provider.call(name, arguments, &context()).await;
        assert!(
            matches!(result, Err(ToolError::Unavailable(_))),
            "{result:?}"
        );
    }
}

/// Dropping a call stops that call, and no other.
pub async fn dropping_a_call_stops_no_other_call<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    arguments: &ToolArguments,
) {
    let context = context();
    drop(provider.call(sample, arguments, &context));
    let mut begun = provider.call(sample, arguments, &context);
    let _ = futures::poll!(&mut begun);
    drop(begun);
    a_call_returns_text(provider, sample, arguments).await;
}

/// Calls are independent of each other.
pub async fn many_calls_can_run_at_once<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    arguments: &ToolArguments,
) {
    let context = context();
    let calls = (0..64).map(|_| provider.call(sample, arguments, &context));
    let results = join_all(calls).await;
    for result in results {
        assert!(!result.expect("an answer").is_empty());
    }
}
