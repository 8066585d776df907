//! Links to contents, which need no credential.

use std::sync::Arc;

use domain::{
    FileId, FileLink, LinkSecret, Principal, RegionEntry, StoredFile, TenantId, Timestamp,
    file_link::{self, LINK_LIFE},
};
use parking_lot::RwLock;
use tokio::sync::OnceCell;

use super::{FileError, FileService};

/// The links of a service to its files.
pub struct FileLinks {
    public_url: String,
    /// The regions, all of which serve each file.
    regions: Arc<RwLock<Vec<RegionEntry>>>,
    /// The recorded secret. It never changes.
    secret: OnceCell<LinkSecret>,
}

impl FileLinks {
    /// Creates links that begin with this URL. The addresses of all `regions` are recognised.
    pub fn new(public_url: String, regions: Arc<RwLock<Vec<RegionEntry>>>) -> Self {
        Self {
            public_url,
            regions,
            secret: OnceCell::new(),
        }
    }
}

/// Links to the files of a tenant, which end together.
pub struct TenantLinks {
    server: String,
    tenant: TenantId,
    /// `None` if no contents are stored.
    secret: Option<LinkSecret>,
    expires_at: Timestamp,
}

impl TenantLinks {
    /// Returns the link to the content of a file. Without a store of contents it is an address at which nothing is
    /// found.
    pub fn address(&self, id: FileId) -> String {
        let (server, path) = (&self.server, file_link::content_path(id));
        let signed = self.secret.as_ref();
        let signed = signed.map(|secret| secret.sign(&self.tenant, id, self.expires_at));
        let query = signed.map(|link| format!("?link={link}"));
        format!("{server}{path}{}", query.unwrap_or_default())
    }
}

impl FileService {
    /// Returns a link to the content of a file that the caller may read.
    pub async fn link(&self, caller: &Principal, id: FileId) -> Result<FileLink, FileError> {
        self.find_stored(caller, id).await?;
        let secret = self.link_secret().await?;
        let links = self.links_of(&caller.tenant, Some(secret.clone()));
        Ok(FileLink {
            url: links.address(id),
            expires_at: links.expires_at,
        })
    }

    /// Returns the links to files of a tenant that their reader is known to see, such as those of messages.
    pub async fn tenant_links(&self, tenant: &TenantId) -> Result<TenantLinks, FileError> {
        let secret = match &self.ports.blobs {
            Some(_) => Some(self.link_secret().await?.clone()),
            None => None,
        };
        Ok(self.links_of(tenant, secret))
    }

    fn links_of(&self, tenant: &TenantId, secret: Option<LinkSecret>) -> TenantLinks {
        TenantLinks {
            server: self.links.public_url.clone(),
            tenant: tenant.clone(),
            secret,
            expires_at: self.ports.clock.now() + LINK_LIFE,
        }
    }

    /// Returns the file whose content is at this address of the service, in any of its regions. Whether a link in
    /// it is valid does not matter.
    pub fn file_of_address(&self, address: &str) -> Option<FileId> {
        let regions = self.links.regions.read();
        let regions = regions.iter().map(|region| region.url.as_str());
        let servers = [self.links.public_url.as_str()].into_iter().chain(regions);
        file_link::file_of_address(address, servers)
    }

    /// Finds the file of a link, as [`Self::find_stored`] does for a caller.
    pub async fn find_linked(&self, link: &str, id: FileId) -> Result<StoredFile, FileError> {
        let now = self.ports.clock.now();
        let tenant = self.link_secret().await?.verify(link, id, now);
        let tenant = tenant.ok_or(FileError::NotFound)?;
        let found = self.ports.files.find(&tenant, &[id]).await?.pop();
        let found = found.filter(|file| file.exists(now));
        found.ok_or(FileError::NotFound)
    }

    async fn link_secret(&self) -> Result<&LinkSecret, FileError> {
        let read = async || {
            let recorded = self.ports.files.link_secret().await?;
            recorded.ok_or_else(|| FileError::Unavailable("no secret of links is recorded".into()))
        };
        self.links.secret.get_or_try_init(read).await
    }
}
