#include <google/protobuf/text_format.h>

#include "app/plots/net_picture.h"
#include "app/plots/report_page.h"
#include "app/plots/svg.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/prototxt.h"

namespace cortado {
namespace {
/// A value of the record for people: lists and objects spread over lines.
std::string value_text(const OrderedJson& value) {
  if (value.is_string()) return xml_text(value.get<std::string>());
  std::string text;
  if (value.is_object())
    for (const auto& [key, inner] : value.items())
      text += (text.empty() ? "" : "<br>") + xml_text(key) + ": " + value_text(inner);
  else if (value.is_array())
    for (const auto& inner : value) text += (text.empty() ? "" : "<br>") + value_text(inner);
  else
    text = xml_text(value.dump());
  return text;
}

std::string row_for(const std::string& name, const OrderedJson& value) {
  return "<tr><th>" + xml_text(name) + "</th><td class=\"text\">" + value_text(value) + "</td></tr>\n";
}

std::string folded(const std::string& title, const std::string& inside) {
  return "<details><summary>" + xml_text(title) + "</summary>" + inside + "</details>\n";
}

std::string plans_table(const OrderedJson& plans) {
  std::string rows;
  for (const auto& [where, plan] : plans.items()) rows += row_for(where, plan);
  return "<table>" + rows + "</table>";
}

PictureFacts facts_of(const OrderedJson& record) {
  PictureFacts facts;
  const OrderedJson none = OrderedJson::object(), parameters = record.value("parameters", none),
                    shapes = record.value("shapes", none);
  for (const auto& [layer, count] : parameters.items()) facts.parameters[layer] = whole_number(count);
  facts.frozen = record.value("frozen", OrderedJson::array()).get<std::set<std::string>>();
  for (const auto& [blob, shape] : shapes.items())
    for (const auto& size : shape) facts.shapes[blob].push_back(whole_number(size));
  return facts;
}
}  // namespace

std::string net_part(const SavedRun& run) {
  try {
    const std::string text = run.record.value("nets", OrderedJson::object()).value("train", "");
    if (text.empty()) return "";
    caffe::NetParameter net;
    parse_text(text, run.name + "_run.json, nets, train", net);
    const PictureFacts facts = facts_of(run.record);
    double parameters = 0, frozen = 0;  // of any sizes that the file may claim
    for (const auto& [layer, count] : facts.parameters) {
      parameters += static_cast<double>(count);
      if (facts.frozen.count(layer) > 0) frozen += static_cast<double>(count);
    }
    std::string note = std::to_string(net.layer_size()) + " layers, " + count_text(parameters) + " parameters";
    if (frozen > 0) note += ", " + count_text(frozen) + " of them frozen (dashed)";
    return "<section id=\"net\"><h2>Net</h2>\n" +
           html_of({net.name(),
                    note + "; layers in place stand with those whose values they change",
                    0,
                    0,
                    net_picture(net, facts),
                    {}}) +
           "</section>\n";
  } catch (const Error& error) {
    CORTADO_LOG(warning) << "The net is not drawn: " << error.what();
  } catch (const OrderedJson::exception& error) {
    CORTADO_LOG(warning) << "The net is not drawn: " << run.name << "_run.json: " << error.what();
  }
  return "";
}

std::string record_part(const SavedRun& run) {
  if (run.record.empty()) return "";
  std::string rows, texts;
  for (const auto& [key, value] : run.record.items()) {
    if (key == "format" || key == "parameters" || key == "shapes" || value.empty()) continue;
    if (key == "solver")
      texts +=
          folded("solver", "<pre>" + xml_lines(value.is_string() ? value.get<std::string>() : value.dump()) + "</pre>");
    else if (key == "nets" && value.is_object())
      for (const auto& [net, text] : value.items())
        texts += folded("net: " + net,
                        "<pre>" + xml_lines(text.is_string() ? text.get<std::string>() : text.dump()) + "</pre>");
    else if (key == "plans" && value.is_object())
      texts += folded("plans of layers", plans_table(value));
    else
      rows += row_for(key, value);
  }
  return "<section class=\"record\"><h2>Record of " + xml_text(run.name) + "</h2>\n<div class=\"wide\"><table>" + rows +
         "</table></div>\n" + texts + "</section>\n";
}

}  // namespace cortado
