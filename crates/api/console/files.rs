//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DB6SHpkn.js", include_bytes!("assets/feed-DB6SHpkn.js")),
    ("assets/index-BL9nz2PC.js", include_bytes!("assets/index-BL9nz2PC.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
