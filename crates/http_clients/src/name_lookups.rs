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
use tokio::{
    sync::{Semaphore, watch},
    task::spawn_blocking,
};

type Outcome = Result<Vec<SocketAddr>, Arc<io::Error>>;
type Running = Mutex<BTreeMap<String, watch::Receiver<Option<Outcome>>>>;

/// The look-ups of the process.
static RUNNING: Running = Mutex::new(BTreeMap::new());

/// The look-ups of names that tenants choose. A runtime has 512 threads for look-ups and files.
static FOR_TENANTS: Semaphore = Semaphore::const_new(32);

/// Returns the addresses of a host name, with port zero. Must be called on a runtime.
pub async fn look_up(name: &str) -> io::Result<Vec<SocketAddr>> {
    shared(&RUNNING, name, addresses).await
}

/// Like [`look_up`], for a name that a tenant has chosen. A limited number of these look-ups run at a
/// time, so that names that are not answered do not occupy all threads; others wait.
pub async fn look_up_for_tenant(name: &str) -> io::Result<Vec<SocketAddr>> {
    limited(&FOR_TENANTS, &RUNNING, name, addresses).await
}

/// The system's resolver for clients of `reqwest`, which looks up each name once at a time.
pub(crate) struct SystemResolver;

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

async fn limited(
    limit: &'static Semaphore,
    running: &'static Running,
    name: &str,
    look_up: impl FnOnce(&str) -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> io::Result<Vec<SocketAddr>> {
    let permit = limit.acquire().await.map_err(io::Error::other)?;
    let look_up = move |name: &str| {
        // Until the thread is free, also if the caller has left.
        let _permit = permit;
        look_up(name)
    };
    shared(running, name, look_up).await
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
    let entry = RemoveOnDrop { running, name };
    spawn_blocking(move || {
        let addresses = look_up(&entry.name).map_err(Arc::new);
        // From now on, callers look the name up again.
        drop(entry);
        sender.send_replace(Some(addresses));
    });
    outcome
}

/// Removes a look-up when it ends, also if the runtime ends before.
struct RemoveOnDrop {
    running: &'static Running,
    name: String,
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        self.running.lock().remove(&self.name);
    }
}

#[cfg(test)]
mod tests;
