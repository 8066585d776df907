//! `ToolProvider`: what everybody who has tools promises to those who call them.

use std::collections::BTreeSet;

use futures::future::join_all;
use ports::{CapabilityKind, ToolArguments, ToolError, ToolProvider};

/// Expands to one test per promise of a provider of tools. `$fixture` is the path (from the crate's
/// root) of an async function whose answer derefs to a `ports::ToolProvider` that has tools, and
/// `$sample` that of a function that gives the name of one of them with arguments that it answers.
#[macro_export]
macro_rules! tool_provider_contract {
    ($fixture:path, $sample:path) => {
        $crate::tool_provider_contract! {
            $fixture, $sample;
            tells_its_capabilities_in_order_of_name,
            offers_its_tools_in_order_of_name,
            offers_what_it_calls_available,
            describes_arguments_as_members_of_an_object,
            answers_a_call,
            a_tool_it_does_not_have_is_unavailable,
            goes_on_after_a_call_that_was_dropped,
            answers_many_calls_at_once,
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

/// `capabilities` MUST be in order of name; no name stands there twice.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn tells_its_capabilities_in_order_of_name<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    _arguments: &ToolArguments,
) {
    let capabilities = provider.capabilities();
    let names: Vec<_> = capabilities.iter().map(|told| told.name.as_str()).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    assert!(names.contains(&sample), "{names:?}");
}

/// `tools` MUST be in order of name; no name stands there twice.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn offers_its_tools_in_order_of_name<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    _arguments: &ToolArguments,
) {
    let tools = provider.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    assert!(names.contains(&sample), "{names:?}");
}

/// The tools that are offered are the capabilities of their kind that are available, and are
/// described alike.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn offers_what_it_calls_available<P: ToolProvider + ?Sized>(
    provider: &P,
    _sample: &str,
    _arguments: &ToolArguments,
) {
    let found = provider.provided();
    let capabilities = found.capabilities.into_iter();
    let available = capabilities
        .filter(|told| told.kind == CapabilityKind::Tool && told.is_available)
        .map(|told| (told.name, told.description));
    let offered = found
        .tools
        .iter()
        .map(|tool| (tool.name.clone(), tool.description.clone()));
    assert_eq!(available.collect::<BTreeSet<_>>(), offered.collect());
}

/// Arguments are always an object.
#[expect(clippy::unused_async, reason = "all promises are awaited")]
pub async fn describes_arguments_as_members_of_an_object<P: ToolProvider + ?Sized>(
    provider: &P,
    _sample: &str,
    _arguments: &ToolArguments,
) {
    for tool in provider.tools() {
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
    }
}

/// `call` MUST answer text.
pub async fn answers_a_call<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    arguments: &ToolArguments,
) {
    let answer = provider.call(sample, arguments).await;
    assert!(!answer.expect("an answer").is_empty());
}

/// A name that the provider does not have is `Unavailable`: it may have had it a moment ago.
pub async fn a_tool_it_does_not_have_is_unavailable<P: ToolProvider + ?Sized>(
    provider: &P,
    _sample: &str,
    arguments: &ToolArguments,
) {
    for name in ["", "a_tool_of_nobody", "nobody/a_tool"] {
        let answer = provider.call(name, arguments).await;
        assert!(
            matches!(answer, Err(ToolError::Unavailable(_))),
            "{answer:?}"
        );
    }
}

/// Dropping a call stops that call, and no other.
pub async fn goes_on_after_a_call_that_was_dropped<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    arguments: &ToolArguments,
) {
    drop(provider.call(sample, arguments));
    let mut begun = provider.call(sample, arguments);
    let _ = futures::poll!(&mut begun);
    drop(begun);
    answers_a_call(provider, sample, arguments).await;
}

/// Calls are independent of each other.
pub async fn answers_many_calls_at_once<P: ToolProvider + ?Sized>(
    provider: &P,
    sample: &str,
    arguments: &ToolArguments,
) {
    let answers = join_all((0..64).map(|_| provider.call(sample, arguments))).await;
    for answer in answers {
        assert!(!answer.expect("an answer").is_empty());
    }
}
