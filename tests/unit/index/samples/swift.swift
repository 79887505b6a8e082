import Foundation
import os

let defaultTimeout = 3.0

/// Talks to the server.
@MainActor
public final class Client: NSObject {
    private var session: URLSession
    let timeout: Double

    init(timeout: Double = defaultTimeout) {
        self.timeout = timeout
        self.session = URLSession.shared
    }

    /// Fetches one page.
    @discardableResult
    func fetch(_ url: URL) async throws -> Data {
        let (data, _) = try await session.data(from: url)
        return data
    }

    deinit {
        session.invalidateAndCancel()
    }
}

struct Page {
    var body: Data
}

protocol Fetching {
    func fetch(_ url: URL) async throws -> Data
}

extension Client {
    func reset() {
        session = .shared
    }
}

func makeClient() -> Client {
    return Client()
}
