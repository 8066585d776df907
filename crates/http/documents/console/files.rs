//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CsqNq4IY.js", include_bytes!("assets/feed-CsqNq4IY.js")),
    ("assets/files-e-ar8sV_.js", include_bytes!("assets/files-e-ar8sV_.js")),
    ("assets/index-CgTEPINa.js", include_bytes!("assets/index-CgTEPINa.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
