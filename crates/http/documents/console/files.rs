//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-0PjF0uVL.js", include_bytes!("assets/feed-0PjF0uVL.js")),
    ("assets/files-CRZfAkQL.js", include_bytes!("assets/files-CRZfAkQL.js")),
    ("assets/index-BZBSSHbo.js", include_bytes!("assets/index-BZBSSHbo.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
