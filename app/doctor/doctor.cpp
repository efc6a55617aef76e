#include <iostream>
#include <memory>

#include "app/command_line/shared_flags.h"
#include "app/command_line/verb.h"
#include "app/doctor/checks.h"
#include "app/doctor/rank_facts.h"
#include "app/report/report.h"
#include "app/session/net_flags.h"
#include "app/session/session.h"
#include "app/session/session_flags.h"
#include "app/tune/tuning.h"
#include "core/base/error.h"

namespace cortado {
namespace {
/// `cortado doctor`: every rank looks around, rank 0 judges.
class Doctor : public Verb {
 public:
  void add_to(Flags& flags) override {
    flags
        .add("--solver", solver_,
             "Solver prototxt: also look at its nets' data on every rank, plans, memory and snapshots")
        .differs_by_rank();  // differences are lines of the report
    add_tuning(flags, tuning_);
    add_json(flags, json_);
    session_.core_groups = 0;
    session_.add_core_groups(flags);
    session_.add_devices(flags);
    state_.add_to(flags);
  }
  int run(const MpiJob& job) override;

 private:
  doctor::RankFacts look(const MpiJob& job, std::unique_ptr<Session>& session) const;
  void look_at_plans(Session* session, doctor::JobFacts& facts) const;
  void write(const std::vector<doctor::Finding>& findings, const doctor::JobFacts& facts, const Session* session) const;

  NetState state_;
  SessionFlags session_;
  std::string solver_, tuning_, json_;
};

doctor::RankFacts Doctor::look(const MpiJob& job, std::unique_ptr<Session>& session) const {
  doctor::RankFacts facts = doctor::look_around(job);
  try {
    session = std::make_unique<Session>(job, session_);
    doctor::look_at_machine(*session, facts);
  } catch (const Error& error) { facts.backend_error = error.what(); }
  if (!solver_.empty()) facts.solver = doctor::look_at_solver(state_, solver_);
  return facts;
}

void Doctor::look_at_plans(Session* session, doctor::JobFacts& facts) const {
  if (session == nullptr) return;
  try {
    const TuningTable tuning = read_tuning(session->group.spec(), tuning_);
    facts.has_tuning = !tuning.empty();
    if (!solver_.empty() && facts.ranks[0].solver.error.empty())
      facts.net = doctor::look_at_net(*session, state_, solver_, tuning);
  } catch (const Error& error) { facts.tuning_error = error.what(); }
}

void Doctor::write(const std::vector<doctor::Finding>& findings, const doctor::JobFacts& facts,
                   const Session* session) const {
  Report report({}, session != nullptr ? session->group.spec() : MachineSpec(), {{"solver", solver_}});
  for (const doctor::Finding& one : findings)
    report.add(
        {{"grade", doctor::word_of(one.grade)}, {"topic", one.topic}, {"finding", one.what}, {"advice", one.advice}});
  nlohmann::json ranks = nlohmann::json::array(), clocks = nlohmann::json::array();
  for (const auto& rank : facts.ranks) ranks.push_back(doctor::to_json(rank));
  for (const ClockOffset& clock : facts.clocks)
    clocks.push_back({{"seconds", clock.seconds}, {"bound", clock.bound}, {"round_trip", clock.round_trip}});
  report.summarize({{"exit_code", doctor::exit_code(findings)}, {"ranks", ranks}, {"clocks", clocks}});
  report.write_json(json_);
}

int Doctor::run(const MpiJob& job) {
  std::unique_ptr<Session> session;
  const doctor::RankFacts own = look(job, session);
  doctor::JobFacts facts;
  for (const std::string& text : job.gather(json_text(doctor::to_json(own))))
    facts.ranks.push_back(doctor::facts_of(nlohmann::json::parse(text)));
  facts.clocks = clock_offsets(job.replicas().communicator());
  int code = 0;
  if (job.rank() == 0) {
    look_at_plans(session.get(), facts);
    const auto findings = doctor::examine(facts);
    std::cout << doctor::table_of(findings);
    if (!json_.empty()) write(findings, facts, session.get());
    code = doctor::exit_code(findings);
  }
  return std::stoi(job.replicas().from_root(std::to_string(code)));
}
}  // namespace

std::unique_ptr<Verb> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace cortado
