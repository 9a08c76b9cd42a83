import Foundation
import TestSupport
import Testing

@Suite("The folder of the chat logs")
struct ChatLogFolderTests {
    @Test("SCROLLBACK_CHATLOGS names the folder of the chat logs")
    func folder() {
        let log = Requirement.chatLog("irc.jsonl", environment: ["SCROLLBACK_CHATLOGS": "/opt/logs"])
        #expect(log.file.path == "/opt/logs/irc.jsonl")
    }
}
