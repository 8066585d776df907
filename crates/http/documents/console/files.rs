//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-D-EGMJp2.js", include_bytes!("assets/feed-D-EGMJp2.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("assets/index-DTrznH_F.js", include_bytes!("assets/index-DTrznH_F.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
