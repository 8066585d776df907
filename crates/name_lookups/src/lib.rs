//! Addresses of host names, with one look-up at a time for each name.
//!
//! A look-up of the system occupies a thread until name servers answer or time out, even if its caller
//! has left. If each request had one, those of a single name could occupy all threads of the runtime,
//! and all other names would wait.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    sync::Arc,
};

use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::{sync::watch, task::spawn_blocking};

type Outcome = Result<Vec<SocketAddr>, Arc<io::Error>>;
type Running = Mutex<BTreeMap<String, watch::Receiver<Option<Outcome>>>>;

/// The look-ups of the process.
static RUNNING: Running = Mutex::new(BTreeMap::new());

/// Returns the addresses of a host name, with port zero. Must be called on a runtime.
pub async fn look_up(name: &str) -> io::Result<Vec<SocketAddr>> {
    shared(&RUNNING, name, addresses).await
}

/// The system's resolver for clients of `reqwest`, which looks up each name once at a time.
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The client replaces port zero by the port of the URL.
            let addresses = look_up(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

fn addresses(name: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((name, 0).to_socket_addrs()?.collect())
}

/// Waits for the running look-up of a name; starts one if there is none.
async fn shared(
    running: &'static Running,
    name: &str,
    look_up: impl FnOnce(&str) -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> io::Result<Vec<SocketAddr>> {
    let mut outcome = join(running, name, look_up);
    let outcome = outcome.wait_for(Option::is_some).await;
    match outcome.as_deref() {
        Ok(Some(Ok(addresses))) => Ok(addresses.clone()),
        Ok(Some(Err(error))) => Err(io::Error::new(error.kind(), Arc::clone(error))),
        Ok(None) | Err(_) => Err(io::Error::other("the look-up of a host name was aborted")),
    }
}

fn join(
    running: &'static Running,
    name: &str,
    look_up: impl FnOnce(&str) -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> watch::Receiver<Option<Outcome>> {
    let (sender, outcome) = watch::channel(None);
    match running.lock().entry(name.to_owned()) {
        Entry::Occupied(entry) => return entry.get().clone(),
        Entry::Vacant(entry) => entry.insert(outcome.clone()),
    };
    let name = name.to_owned();
    let end = End { running, name };
    spawn_blocking(move || {
        let addresses = look_up(&end.name).map_err(Arc::new);
        // From now on, callers look the name up again.
        drop(end);
        sender.send_replace(Some(addresses));
    });
    outcome
}

/// Removes a look-up when it ends, also if the runtime ends before.
struct End {
    running: &'static Running,
    name: String,
}

impl Drop for End {
    fn drop(&mut self) {
        self.running.lock().remove(&self.name);
    }
}

#[cfg(test)]
mod tests;
